# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 1035,803 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'

# Title, notes and titles of axes: text, place, size, colour.
set label 'layers.*.attn.weights: 3 layers of 4 heads' at screen 16.0/1035,1-22.0/803 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'step 0, batch 0; each panel: 8 queries down, 8 keys across; one scale for all: linear from 0 to 1' at screen 16.0/1035,1-44.0/803 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'faults planted: mask_off_by_one layers=1' at screen 16.0/1035,1-61.0/803 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'Marked in this colour: 24 hidden cells, not 0; largest 0.999 in layer 1, head 2, query 5, key 6' at screen 16.0/1035,1-755.0/803 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#e8371b'
set label 'Blank: hidden by the claimed mask, or not computed' at screen 16.0/1035,1-772.0/803 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'

# The place of the picture in the sheet.
set lmargin at screen 97.0/1035
set rmargin at screen 909.0/1035
set tmargin at screen 1-86.0/803
set bmargin at screen 1-694.0/803

# The axes; of a map the first row is on top.
set xrange [-0.5:812-0.5]
set yrange [608-0.5:-0.5]

# The range of the colours.
set cbrange [0:1]
set format cb '%.3g'

# The bar of colours.
set colorbox vertical user origin 929.0/1035,1-572.0/803 size 14.0/1035,364.0/803 border
set label 'layer' at screen 20.0/1035,1-390.0/803 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'head' at screen 503.0/1035,1-728.0/803 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
unset border
set object rectangle from -2,-2 to 201,201 noclip front linewidth 1 fillstyle empty border linecolor rgb '#c4c9cf'
set object rectangle from 202,-2 to 405,201 noclip front linewidth 1 fillstyle empty border linecolor rgb '#c4c9cf'
set object rectangle from 406,-2 to 609,201 noclip front linewidth 1 fillstyle empty border linecolor rgb '#c4c9cf'
set object rectangle from 610,-2 to 813,201 noclip front linewidth 1 fillstyle empty border linecolor rgb '#c4c9cf'
set object rectangle from -2,202 to 201,405 noclip front linewidth 2 fillstyle empty border linecolor rgb '#e8371b'
set object rectangle from 202,202 to 405,405 noclip front linewidth 2 fillstyle empty border linecolor rgb '#e8371b'
set object rectangle from 406,202 to 609,405 noclip front linewidth 2 fillstyle empty border linecolor rgb '#e8371b'
set object rectangle from 610,202 to 813,405 noclip front linewidth 2 fillstyle empty border linecolor rgb '#e8371b'
set object rectangle from -2,406 to 201,609 noclip front linewidth 1 fillstyle empty border linecolor rgb '#c4c9cf'
set object rectangle from 202,406 to 405,609 noclip front linewidth 1 fillstyle empty border linecolor rgb '#c4c9cf'
set object rectangle from 406,406 to 609,609 noclip front linewidth 1 fillstyle empty border linecolor rgb '#c4c9cf'
set object rectangle from 610,406 to 813,609 noclip front linewidth 1 fillstyle empty border linecolor rgb '#c4c9cf'

# Numbers or labels along the axes.
set xtics  ('0' 100, '1' 304, '2' 508, '3' 712)
set ytics  ('0' 100, '1' 304, '2' 508)

# The data, as text files beside this one, and how they are drawn.
plot 'cells.txt' matrix using 1:2:3 with image, \
     'marks.txt' using 1:2:3:4:5:6 with rgbalpha, \
     'leaks.txt' using 1:2:(7) with circles fillstyle empty linewidth 4 linecolor rgb '#ffffff', \
     'leaks.txt' using 1:2:(7) with circles fillstyle empty linewidth 2 linecolor rgb '#e8371b'
set output
