# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 900,680 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'

# Title, notes and titles of axes: text, place, size, colour.
set label 'Relative error by layer: float32 against float64' at screen 16.0/900,1-22.0/680 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'L2 norm of the difference / L2 norm of the reference; 3 steps; 11 values with smaller errors are not drawn' at screen 16.0/900,1-44.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'Different faults were planted: not all of this is rounding. Measured: no fault planted; reference: faults' at screen 16.0/900,1-61.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'planted: mask_off_by_one layers=1' at screen 16.0/900,1-78.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'Dotted, the rounding floor: what is left if nothing but the sums of the residual stream are rounded, each by' at screen 16.0/900,1-619.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label '0.39 roundoffs (of all its elements together) and apart from the others' at screen 16.0/900,1-636.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'Marked in this colour, at the bottom: 2 values, exactly 0; first: outside the layers, embed.tok' at screen 16.0/900,1-653.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set multiplot
unset logscale y

# The place of the picture in the sheet.
set lmargin at screen 103.0/900
set rmargin at screen 664.0/900
set tmargin at screen 1-103.0/680
set bmargin at screen 1-494.0/680

# The axes; of a map the first row is on top.
set xrange [-0.5:1-0.5]
set yrange [1-0.5:-0.5]
set xrange [-2.5:5.5]
set yrange [7.58577575029182e-10:1]
set logscale y
set ytics ('1e-8' 1e-08, '1e-7' 1e-07, '1e-6' 1e-06, '1e-5' 1e-05, '1e-4' 0.0001, '0.001' 0.001, '0.01' 0.01, '0.1' 0.1, '1' 1, '0' 2.7542287033381634e-09)

# Numbers or labels along the axes.
set xtics rotate by 90 right ('embed.tok' -2, 'embed.out' -1, 'final.norm' 3, 'logits' 4, 'loss.token' 5, 'layer 0' 0, 'layer 1' 1, 'layer 2' 2)
set label 'relative error' at screen 20.0/900,1-298.0/680 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'in order of execution' at screen 383.0/900,1-590.0/680 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from graph 0,first 5.9604644775390625e-08 to graph 1,first 5.9604644775390625e-08 nohead front dashtype 2 linewidth 1.5 linecolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-111.0/680 to screen 710.0/900,screen 1-111.0/680 nohead linewidth 1.5 linecolor rgb '#0072b2'
set label '' at screen 697.0/900,screen 1-111.0/680 point pointtype 7 pointsize 0.8 linecolor rgb '#0072b2'
set label 'attn.scores' at screen 718.0/900,1-111.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-132.0/680 to screen 710.0/900,screen 1-132.0/680 nohead linewidth 1.5 linecolor rgb '#d55e00'
set label '' at screen 697.0/900,screen 1-132.0/680 point pointtype 5 pointsize 0.8 linecolor rgb '#d55e00'
set label 'attn.weights' at screen 718.0/900,1-132.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-153.0/680 to screen 710.0/900,screen 1-153.0/680 nohead linewidth 1.5 linecolor rgb '#009e73'
set label '' at screen 697.0/900,screen 1-153.0/680 point pointtype 9 pointsize 0.8 linecolor rgb '#009e73'
set label 'attn.merged' at screen 718.0/900,1-153.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-174.0/680 to screen 710.0/900,screen 1-174.0/680 nohead linewidth 1.5 linecolor rgb '#8a5a9e'
set label '' at screen 697.0/900,screen 1-174.0/680 point pointtype 13 pointsize 0.8 linecolor rgb '#8a5a9e'
set label 'attn.out' at screen 718.0/900,1-174.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-195.0/680 to screen 710.0/900,screen 1-195.0/680 nohead linewidth 1.5 linecolor rgb '#56b4e9'
set label '' at screen 697.0/900,screen 1-195.0/680 point pointtype 7 pointsize 0.8 linecolor rgb '#56b4e9'
set label 'mlp.up' at screen 718.0/900,1-195.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-216.0/680 to screen 710.0/900,screen 1-216.0/680 nohead linewidth 1.5 linecolor rgb '#b8860b'
set label '' at screen 697.0/900,screen 1-216.0/680 point pointtype 5 pointsize 0.8 linecolor rgb '#b8860b'
set label 'mlp.act' at screen 718.0/900,1-216.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-237.0/680 to screen 710.0/900,screen 1-237.0/680 nohead linewidth 1.5 linecolor rgb '#4d4d4d'
set label '' at screen 697.0/900,screen 1-237.0/680 point pointtype 9 pointsize 0.8 linecolor rgb '#4d4d4d'
set label 'mlp.out' at screen 718.0/900,1-237.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-258.0/680 to screen 710.0/900,screen 1-258.0/680 nohead linewidth 1.5 linecolor rgb '#cc79a7'
set label '' at screen 697.0/900,screen 1-258.0/680 point pointtype 13 pointsize 0.8 linecolor rgb '#cc79a7'
set label 'resid.post' at screen 718.0/900,1-258.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label '' at screen 697.0/900,screen 1-279.0/680 point pointtype 5 pointsize 0.8 linecolor rgb '#0072b2'
set label 'outside the layers' at screen 718.0/900,1-279.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-300.0/680 to screen 710.0/900,screen 1-300.0/680 nohead dashtype 3 linewidth 2 linecolor rgb '#1b1f24'
set label 'rounding of the' at screen 718.0/900,1-300.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'stream alone' at screen 718.0/900,1-317.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-338.0/680 to screen 710.0/900,screen 1-338.0/680 nohead dashtype 2 linewidth 1.5 linecolor rgb '#1b1f24'
set label 'unit roundoff of' at screen 718.0/900,1-338.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'float32: 6e-08' at screen 718.0/900,1-355.0/680 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'

# The data, as text files beside this one, and how they are drawn.
plot 'data0.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#0072b2', \
     'data1.txt' using 1:2 with linespoints linewidth 1.5 pointtype 5 pointsize 0.7 linecolor rgb '#d55e00', \
     'data2.txt' using 1:2 with linespoints linewidth 1.5 pointtype 9 pointsize 0.7 linecolor rgb '#009e73', \
     'data3.txt' using 1:2 with linespoints linewidth 1.5 pointtype 13 pointsize 0.7 linecolor rgb '#8a5a9e', \
     'data4.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#56b4e9', \
     'data5.txt' using 1:2 with linespoints linewidth 1.5 pointtype 5 pointsize 0.7 linecolor rgb '#b8860b', \
     'data6.txt' using 1:2 with linespoints linewidth 1.5 pointtype 9 pointsize 0.7 linecolor rgb '#4d4d4d', \
     'data7.txt' using 1:2 with linespoints linewidth 1.5 pointtype 13 pointsize 0.7 linecolor rgb '#cc79a7', \
     'data8.txt' using 1:2 with points linewidth 1.5 pointtype 5 pointsize 0.7 linecolor rgb '#0072b2', \
     'data9.txt' using 1:2 with lines dashtype 3 linewidth 2 linecolor rgb '#1b1f24', \
     'data10.txt' using 1:2 with points pointtype 11 pointsize 1.1 linewidth 2 linecolor rgb '#57606a'
unset label
unset object
unset arrow
unset multiplot
set output
