# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 699,705 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'

# Title, notes and titles of axes: text, place, size, colour.
set label 'Which heads attend alike' at screen 16.0/699,1-22.0/705 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'The weight that two heads put on the same keys (sum of the smaller of both): 1 is the' at screen 16.0/699,1-44.0/705 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'same weights, 0 no key in common. Below the diagonal the mean over 13 of 13 queries' at screen 16.0/699,1-61.0/705 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'that see two keys or more, above it what a tenth of them lie at or below. Heads in' at screen 16.0/699,1-78.0/705 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'order, layers apart; step 0, all batch rows; colours linear from 0 to 1' at screen 16.0/699,1-95.0/705 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'faults planted: mask_off_by_one layers=1' at screen 16.0/699,1-112.0/705 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'Blank: a head with itself, or not recorded' at screen 16.0/699,1-674.0/705 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'

# The place of the picture in the sheet.
set lmargin at screen 97.0/699
set rmargin at screen 573.0/699
set tmargin at screen 1-137.0/705
set bmargin at screen 1-613.0/705

# The axes; of a map the first row is on top.
set xrange [-0.5:14-0.5]
set yrange [14-0.5:-0.5]

# The range of the colours.
set cbrange [0:1]
set format cb '%.3g'

# The bar of colours.
set colorbox vertical user origin 593.0/699,1-517.0/705 size 14.0/699,285.0/705 border
set label 'layer' at screen 20.0/699,1-375.0/705 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'layer' at screen 335.0/699,1-647.0/705 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
unset border
set object rectangle from -0.5,-0.5 to 13.5,13.5 noclip front linewidth 0.5 fillstyle empty border linecolor rgb '#57606a'

# Numbers or labels along the axes.
set xtics  ('0' 1.5, '1' 6.5, '2' 11.5)
set ytics  ('0' 1.5, '1' 6.5, '2' 11.5)

# The data, as text files beside this one, and how they are drawn.
plot 'cells.txt' matrix using 1:2:3 with image pixels
set output
