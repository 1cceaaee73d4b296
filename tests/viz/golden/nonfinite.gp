# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 560,942 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'

# Title, notes and titles of axes: text, place, size, colour.
set label 'NaN and infinities, value by value' at screen 16.0/560,1-22.0/942 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'step 0; colours: share of a value'."'".'s elements that are NaN or' at screen 16.0/560,1-44.0/942 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'infinite, logarithmic from 0.00391 to 1' at screen 16.0/560,1-61.0/942 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'faults planted: nan_in_weights layers=1' at screen 16.0/560,1-78.0/942 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'Ringed: the first in order of execution, layers.1.attn.q.weight:' at screen 16.0/560,1-860.0/942 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#e000d0'
set label 'NaN, row 0, column 0; 1 of 256 elements. It spreads to 45 of 75' at screen 16.0/560,1-877.0/942 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#e000d0'
set label 'values, as far as loss.token' at screen 16.0/560,1-894.0/942 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#e000d0'
set label 'White: every element is finite. Grey: nothing is known' at screen 16.0/560,1-911.0/942 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'

# The place of the picture in the sheet.
set lmargin at screen 148.0/560
set rmargin at screen 250.0/560
set tmargin at screen 1-103.0/942
set bmargin at screen 1-799.0/942

# The axes; of a map the first row is on top.
set xrange [-0.5:3-0.5]
set yrange [29-0.5:-0.5]

# The scale of the colours.
set logscale cb

# The range of the colours.
set cbrange [0.00390625:1]
set format cb '%.3g'

# The bar of colours.
set colorbox vertical user origin 270.0/560,1-659.0/942 size 14.0/560,417.0/942 border
set label 'in order of execution' at screen 20.0/560,1-451.0/942 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'layer (values of none: the whole row)' at screen 199.0/560,1-833.0/942 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from first -0.5,-0.5 to first 2.5,-0.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,0.5 to first 2.5,0.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,1.5 to first 2.5,1.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,2.5 to first 2.5,2.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,3.5 to first 2.5,3.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,4.5 to first 2.5,4.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,5.5 to first 2.5,5.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,6.5 to first 2.5,6.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,7.5 to first 2.5,7.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,8.5 to first 2.5,8.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,9.5 to first 2.5,9.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,10.5 to first 2.5,10.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,11.5 to first 2.5,11.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,12.5 to first 2.5,12.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,13.5 to first 2.5,13.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,14.5 to first 2.5,14.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,15.5 to first 2.5,15.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,16.5 to first 2.5,16.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,17.5 to first 2.5,17.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,18.5 to first 2.5,18.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,19.5 to first 2.5,19.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,20.5 to first 2.5,20.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,21.5 to first 2.5,21.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,22.5 to first 2.5,22.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,23.5 to first 2.5,23.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,24.5 to first 2.5,24.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,25.5 to first 2.5,25.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,26.5 to first 2.5,26.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,27.5 to first 2.5,27.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,28.5 to first 2.5,28.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,-0.5 to first -0.5,0.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,-0.5 to first 0.5,0.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,-0.5 to first 1.5,0.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,-0.5 to first 2.5,0.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,0.5 to first -0.5,1.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,0.5 to first 2.5,1.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,1.5 to first -0.5,2.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,1.5 to first 2.5,2.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,2.5 to first -0.5,3.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,2.5 to first 0.5,3.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,2.5 to first 1.5,3.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,2.5 to first 2.5,3.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,3.5 to first -0.5,4.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,3.5 to first 0.5,4.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,3.5 to first 1.5,4.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,3.5 to first 2.5,4.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,4.5 to first -0.5,5.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,4.5 to first 0.5,5.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,4.5 to first 1.5,5.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,4.5 to first 2.5,5.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,5.5 to first -0.5,6.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,5.5 to first 0.5,6.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,5.5 to first 1.5,6.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,5.5 to first 2.5,6.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,6.5 to first -0.5,7.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,6.5 to first 0.5,7.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,6.5 to first 1.5,7.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,6.5 to first 2.5,7.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,7.5 to first -0.5,8.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,7.5 to first 0.5,8.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,7.5 to first 1.5,8.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,7.5 to first 2.5,8.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,8.5 to first -0.5,9.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,8.5 to first 0.5,9.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,8.5 to first 1.5,9.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,8.5 to first 2.5,9.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,9.5 to first -0.5,10.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,9.5 to first 0.5,10.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,9.5 to first 1.5,10.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,9.5 to first 2.5,10.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,10.5 to first -0.5,11.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,10.5 to first 0.5,11.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,10.5 to first 1.5,11.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,10.5 to first 2.5,11.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,11.5 to first -0.5,12.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,11.5 to first 0.5,12.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,11.5 to first 1.5,12.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,11.5 to first 2.5,12.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,12.5 to first -0.5,13.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,12.5 to first 0.5,13.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,12.5 to first 1.5,13.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,12.5 to first 2.5,13.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,13.5 to first -0.5,14.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,13.5 to first 0.5,14.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,13.5 to first 1.5,14.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,13.5 to first 2.5,14.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,14.5 to first -0.5,15.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,14.5 to first 0.5,15.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,14.5 to first 1.5,15.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,14.5 to first 2.5,15.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,15.5 to first -0.5,16.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,15.5 to first 0.5,16.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,15.5 to first 1.5,16.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,15.5 to first 2.5,16.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,16.5 to first -0.5,17.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,16.5 to first 0.5,17.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,16.5 to first 1.5,17.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,16.5 to first 2.5,17.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,17.5 to first -0.5,18.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,17.5 to first 0.5,18.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,17.5 to first 1.5,18.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,17.5 to first 2.5,18.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,18.5 to first -0.5,19.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,18.5 to first 0.5,19.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,18.5 to first 1.5,19.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,18.5 to first 2.5,19.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,19.5 to first -0.5,20.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,19.5 to first 0.5,20.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,19.5 to first 1.5,20.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,19.5 to first 2.5,20.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,20.5 to first -0.5,21.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,20.5 to first 0.5,21.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,20.5 to first 1.5,21.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,20.5 to first 2.5,21.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,21.5 to first -0.5,22.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,21.5 to first 0.5,22.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,21.5 to first 1.5,22.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,21.5 to first 2.5,22.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,22.5 to first -0.5,23.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,22.5 to first 0.5,23.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,22.5 to first 1.5,23.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,22.5 to first 2.5,23.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,23.5 to first -0.5,24.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,23.5 to first 0.5,24.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,23.5 to first 1.5,24.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,23.5 to first 2.5,24.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,24.5 to first -0.5,25.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,24.5 to first 0.5,25.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,24.5 to first 1.5,25.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,24.5 to first 2.5,25.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,25.5 to first -0.5,26.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,25.5 to first 2.5,26.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,26.5 to first -0.5,27.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,26.5 to first 2.5,27.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,27.5 to first -0.5,28.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,27.5 to first 2.5,28.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'

# Numbers or labels along the axes.
set xtics  ('0' 0, '1' 1, '2' 2)
set ytics  ('attn.q.weight' 0, 'embed.tok' 1, 'embed.out' 2, 'resid.pre' 3, 'norm1.out' 4, 'attn.q_proj' 5, 'attn.k_proj' 6, 'attn.q' 7, 'attn.k' 8, 'attn.v' 9, 'attn.scores' 10, 'attn.masked' 11, 'attn.weights' 12, 'attn.heads' 13, 'attn.merged' 14, 'attn.out' 15, 'attn.branch' 16, 'resid.mid' 17, 'norm2.out' 18, 'mlp.gate' 19, 'mlp.gate_act' 20, 'mlp.up' 21, 'mlp.act' 22, 'mlp.out' 23, 'mlp.branch' 24, 'resid.post' 25, 'final.norm' 26, 'logits' 27, 'loss.token' 28)

# The data, as text files beside this one, and how they are drawn.
plot 'cells.txt' matrix using 1:2:3 with image pixels, \
     'unknown.txt' using 1:2:3:4:5:6 with rgbalpha, \
     'nonfinite.txt' using 1:2:(0.28235294117647064) with circles fillstyle empty linewidth 4 linecolor rgb '#ffffff', \
     'nonfinite.txt' using 1:2:(0.28235294117647064) with circles fillstyle empty linewidth 2 linecolor rgb '#e000d0'
set output
