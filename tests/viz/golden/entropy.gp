# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 699,382 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'

# Title, notes and titles of axes: text, place, size, colour.
set label 'Entropy of attention by layer and head' at screen 16.0/699,1-22.0/382 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'Entropy of a query'."'".'s weights over the logarithm of the keys it sees: 0 is one key' at screen 16.0/699,1-44.0/382 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'alone, 1 is all alike. Mean over the queries that see two keys or more, and its' at screen 16.0/699,1-61.0/382 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'spread: a tenth of them lie at or below the low tenth, a tenth at or above the high' at screen 16.0/699,1-78.0/382 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'one; step 0, all batch rows; colours linear from 0 to 1' at screen 16.0/699,1-95.0/382 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'faults planted: mask_off_by_one layers=1' at screen 16.0/699,1-112.0/382 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'self-attention: lowest mean 0.425 in layer 0, head 1 (0.0889 to 0.895); highest 0.883' at screen 16.0/699,1-334.0/382 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'in layer 2, head 1 (0.686 to 0.991)' at screen 16.0/699,1-351.0/382 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'

# The place of the picture in the sheet.
set lmargin at screen 97.0/699
set rmargin at screen 573.0/699
set tmargin at screen 1-137.0/382
set bmargin at screen 1-273.0/382

# The axes; of a map the first row is on top.
set xrange [-0.5:14-0.5]
set yrange [4-0.5:-0.5]

# The range of the colours.
set cbrange [0:1]
set format cb '%.3g'
set cbtics (0, 1)

# The bar of colours.
set colorbox vertical user origin 593.0/699,1-245.0/382 size 14.0/699,81.0/382 border
set label 'layer' at screen 20.0/699,1-205.0/382 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'head' at screen 335.0/699,1-307.0/382 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
unset border
set object rectangle from -0.5,0.5 to 3.5,3.5 noclip front linewidth 0.5 fillstyle empty border linecolor rgb '#57606a'
set label 'mean' at -0.5,0.5 left offset character 0,0.8 front textcolor rgb '#1b1f24'
set object rectangle from 4.5,0.5 to 8.5,3.5 noclip front linewidth 0.5 fillstyle empty border linecolor rgb '#57606a'
set label 'low tenth' at 4.5,0.5 left offset character 0,0.8 front textcolor rgb '#1b1f24'
set object rectangle from 9.5,0.5 to 13.5,3.5 noclip front linewidth 0.5 fillstyle empty border linecolor rgb '#57606a'
set label 'high tenth' at 9.5,0.5 left offset character 0,0.8 front textcolor rgb '#1b1f24'

# Numbers or labels along the axes.
set xtics  ('0' 0, '1' 1, '2' 2, '3' 3, '0' 5, '1' 6, '2' 7, '3' 8, '0' 10, '1' 11, '2' 12, '3' 13)
set ytics  ('0' 1, '1' 2, '2' 3)

# The data, as text files beside this one, and how they are drawn.
plot 'cells.txt' matrix using 1:2:3 with image pixels
set output
