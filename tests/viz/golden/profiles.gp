# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 903,688 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'

# Title, notes and titles of axes: text, place, size, colour.
set label 'Weight on the first, the own and the previous key' at screen 16.0/903,1-22.0/688 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'Mean over the queries that see two keys or more, and its spread: a tenth of them lie at or below the low tenth,' at screen 16.0/903,1-44.0/688 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'a tenth at or above the high one; step 0, all batch rows; colours linear from 0 to 1' at screen 16.0/903,1-61.0/688 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'faults planted: mask_off_by_one layers=1' at screen 16.0/903,1-78.0/688 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'first key: lowest mean 0.149 in layer 1, head 1 (0.0025 to 0.384); highest 0.46 in layer 2, head 0 (0.166 to' at screen 16.0/903,1-572.0/688 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label '0.79)' at screen 16.0/903,1-589.0/688 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'own key: lowest mean 0.129 in layer 1, head 0 (0.00257 to 0.224); highest 0.391 in layer 0, head 1 (8.12e-05 to' at screen 16.0/903,1-606.0/688 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label '0.956)' at screen 16.0/903,1-623.0/688 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'previous key: lowest mean 0.191 in layer 1, head 3 (0.00308 to 0.607); highest 0.435 in layer 0, head 3 (0.0571' at screen 16.0/903,1-640.0/688 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'to 0.773)' at screen 16.0/903,1-657.0/688 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'

# The place of the picture in the sheet.
set lmargin at screen 97.0/903
set rmargin at screen 777.0/903
set tmargin at screen 1-103.0/688
set bmargin at screen 1-511.0/688

# The axes; of a map the first row is on top.
set xrange [-0.5:20-0.5]
set yrange [12-0.5:-0.5]

# The range of the colours.
set cbrange [0:1]
set format cb '%.3g'

# The bar of colours.
set colorbox vertical user origin 797.0/903,1-429.0/688 size 14.0/903,244.0/688 border
set label 'layer' at screen 20.0/903,1-307.0/688 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'head' at screen 437.0/903,1-545.0/688 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
unset border
set object rectangle from -0.5,0.5 to 3.5,3.5 noclip front linewidth 0.5 fillstyle empty border linecolor rgb '#57606a'
set label 'first key: mean' at -0.5,0.5 left offset character 0,0.8 front textcolor rgb '#1b1f24'
set object rectangle from 6.5,0.5 to 10.5,3.5 noclip front linewidth 0.5 fillstyle empty border linecolor rgb '#57606a'
set label 'first key: low tenth' at 6.5,0.5 left offset character 0,0.8 front textcolor rgb '#1b1f24'
set object rectangle from 13.5,0.5 to 17.5,3.5 noclip front linewidth 0.5 fillstyle empty border linecolor rgb '#57606a'
set label 'first key: high tenth' at 13.5,0.5 left offset character 0,0.8 front textcolor rgb '#1b1f24'
set object rectangle from -0.5,4.5 to 3.5,7.5 noclip front linewidth 0.5 fillstyle empty border linecolor rgb '#57606a'
set label 'own key: mean' at -0.5,4.5 left offset character 0,0.8 front textcolor rgb '#1b1f24'
set object rectangle from 6.5,4.5 to 10.5,7.5 noclip front linewidth 0.5 fillstyle empty border linecolor rgb '#57606a'
set label 'own key: low tenth' at 6.5,4.5 left offset character 0,0.8 front textcolor rgb '#1b1f24'
set object rectangle from 13.5,4.5 to 17.5,7.5 noclip front linewidth 0.5 fillstyle empty border linecolor rgb '#57606a'
set label 'own key: high tenth' at 13.5,4.5 left offset character 0,0.8 front textcolor rgb '#1b1f24'
set object rectangle from -0.5,8.5 to 3.5,11.5 noclip front linewidth 0.5 fillstyle empty border linecolor rgb '#57606a'
set label 'previous key: mean' at -0.5,8.5 left offset character 0,0.8 front textcolor rgb '#1b1f24'
set object rectangle from 6.5,8.5 to 10.5,11.5 noclip front linewidth 0.5 fillstyle empty border linecolor rgb '#57606a'
set label 'previous key: low tenth' at 6.5,8.5 left offset character 0,0.8 front textcolor rgb '#1b1f24'
set object rectangle from 13.5,8.5 to 17.5,11.5 noclip front linewidth 0.5 fillstyle empty border linecolor rgb '#57606a'
set label 'previous key: high tenth' at 13.5,8.5 left offset character 0,0.8 front textcolor rgb '#1b1f24'

# Numbers or labels along the axes.
set xtics  ('0' 0, '1' 1, '2' 2, '3' 3, '0' 7, '1' 8, '2' 9, '3' 10, '0' 14, '1' 15, '2' 16, '3' 17)
set ytics  ('0' 1, '1' 2, '2' 3, '0' 5, '1' 6, '2' 7, '0' 9, '1' 10, '2' 11)

# The data, as text files beside this one, and how they are drawn.
plot 'cells.txt' matrix using 1:2:3 with image pixels
set output
