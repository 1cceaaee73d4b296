# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 822,508 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'
set multiplot

# Title, notes and titles of axes: text, place, size, colour.
set label 'Leaks: weight of keys that the mask hides' at screen 16.0/822,1-22.0/508 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'step 0; by layer and head: mean over queries of their weight on hidden keys; colours logarithmic' at screen 16.0/822,1-44.0/508 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'faults planted: mask_off_by_one layers=1' at screen 16.0/822,1-61.0/508 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'Ringed: self-attention gives hidden keys weight in 52 rows (a query of a head). The largest: layer 1,' at screen 16.0/822,1-443.0/508 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#e8371b'
set label 'head 2, batch 0: query 5 gives 0.999 to key 6, a later key' at screen 16.0/822,1-460.0/508 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#e8371b'
set label 'White: exactly 0. Grey: nothing is known. Lines: the edge of the claimed mask' at screen 16.0/822,1-477.0/508 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'

# The place of the picture in the sheet.
set lmargin at screen 97.0/822
set rmargin at screen 233.0/822
set tmargin at screen 1-110.0/508
set bmargin at screen 1-212.0/508

# The axes; of a map the first row is on top.
set xrange [-0.5:4-0.5]
set yrange [3-0.5:-0.5]

# The scale of the colours.
set logscale cb

# The range of the colours.
set cbrange [0.002999470718728131:0.2999470718728131]
set format cb '%.3g'
set cbtics (0.002999470718728131, 0.2999470718728131)

# The bar of colours.
set colorbox vertical user origin 253.0/822,1-212.0/508 size 14.0/822,102.0/508 border
set label 'layer' at screen 20.0/822,1-161.0/508 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'head' at screen 165.0/822,1-246.0/508 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'self-attention' at screen 97.0/822,1-96.0/508 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from first -0.5,-0.5 to first 3.5,-0.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,0.5 to first 3.5,0.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,1.5 to first 3.5,1.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,2.5 to first 3.5,2.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first -0.5,-0.5 to first -0.5,2.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 0.5,-0.5 to first 0.5,2.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 1.5,-0.5 to first 1.5,2.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 2.5,-0.5 to first 2.5,2.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'
set arrow from first 3.5,-0.5 to first 3.5,2.5 nohead front linewidth 0.5 linecolor rgb '#b6bec8'

# Numbers or labels along the axes.
set xtics  ('0' 0, '2' 2)
set ytics  ('0' 0, '1' 1, '2' 2)

# The data, as text files beside this one, and how they are drawn.
plot 'cells.txt' matrix using 1:2:3 with image pixels, \
     'leaks.txt' using 1:2:(0.4) with circles fillstyle empty linewidth 4 linecolor rgb '#ffffff', \
     'leaks.txt' using 1:2:(0.4) with circles fillstyle empty linewidth 2 linecolor rgb '#e8371b'
unset label
unset object
unset arrow
set cbtics autofreq
set lmargin at screen 424.0/822
set rmargin at screen 696.0/822
set tmargin at screen 1-110.0/508
set bmargin at screen 1-382.0/508
set xrange [-0.5:8-0.5]
set yrange [8-0.5:-0.5]
set logscale cb
set cbrange [0.025175558096012234:2.517555809601223]
set format cb '%.3g'
set colorbox vertical user origin 716.0/822,1-327.0/508 size 14.0/822,163.0/508 border
set label 'query' at screen 347.0/822,1-246.0/508 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'key' at screen 560.0/822,1-416.0/508 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'sum over heads of self-attention, batch 0' at screen 424.0/822,1-96.0/508 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
unset border
set object rectangle from screen (424-1.5)/822,1-(110-1.5)/508 to screen (696+1.5)/822,1-(382+1.5)/508 noclip front linewidth 1 fillstyle empty border linecolor rgb '#57606a'
set xtics  ('0' 0, '2' 2, '4' 4, '6' 6)
set ytics  ('0' 0, '2' 2, '4' 4, '6' 6)
plot 'cells2.txt' matrix using 1:2:3 with image pixels, \
     'edges2.txt' using 1:2:3:4 with vectors nohead linewidth 3 linecolor rgb '#ffffff', \
     'edges2.txt' using 1:2:3:4 with vectors nohead linewidth 1 linecolor rgb '#1b1f24'
unset multiplot
set output
