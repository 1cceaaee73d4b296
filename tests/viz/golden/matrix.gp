# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 767,433 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'

# Title, notes and titles of axes: text, place, size, colour.
set label 'layers.0.resid.post' at screen 16.0/767,1-22.0/433 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'step 0, batch 0; colours linear from -7.52 to 8.86' at screen 16.0/767,1-44.0/433 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'faults planted: mask_off_by_one layers=1' at screen 16.0/767,1-61.0/433 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'

# The place of the picture in the sheet.
set lmargin at screen 97.0/767
set rmargin at screen 641.0/767
set tmargin at screen 1-86.0/433
set bmargin at screen 1-358.0/433

# The axes; of a map the first row is on top.
set xrange [-0.5:16-0.5]
set yrange [8-0.5:-0.5]

# The range of the colours.
set cbrange [-7.521922329112067:8.860205794197931]
set format cb '%.3g'

# The bar of colours.
set colorbox vertical user origin 661.0/767,1-303.0/433 size 14.0/767,163.0/433 border
set label 'position' at screen 20.0/767,1-222.0/433 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'channel' at screen 369.0/767,1-392.0/433 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
unset border
set object rectangle from screen (97-1.5)/767,1-(86-1.5)/433 to screen (641+1.5)/767,1-(358+1.5)/433 noclip front linewidth 1 fillstyle empty border linecolor rgb '#57606a'

# Numbers or labels along the axes.
set xtics  ('0' 0, '2' 2, '4' 4, '6' 6, '8' 8, '10' 10, '12' 12, '14' 14)
set ytics  ('0 #1' 0, '1 #4' 1, '2 #17' 2, '3 #26' 3, '4 #5' 4, '5 #31' 5, '6 #12' 6, '7 #4' 7)

# The data, as text files beside this one, and how they are drawn.
plot 'cells.txt' matrix using 1:2:3 with image pixels
set output
