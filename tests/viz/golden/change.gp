# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 1173,559 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'
set multiplot

# Title, notes and titles of axes: text, place, size, colour.
set label 'layers.1.attn.weights, head 1, in two recordings' at screen 16.0/1173,1-22.0/559 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'step 0, batch 0; difference from -0.811 to 0.811; colours linear from 0 to 1' at screen 16.0/1173,1-44.0/559 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'this: faults planted: mask_off_by_one layers=1' at screen 16.0/1173,1-61.0/559 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'the other: no fault planted' at screen 16.0/1173,1-78.0/559 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'Largest difference: -0.811 at query 6, key 7' at screen 16.0/1173,1-494.0/559 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'Marked in this colour: in this recording 6 hidden cells are not 0; largest 0.811 at query 6, key 7' at screen 16.0/1173,1-511.0/559 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#e8371b'
set label 'Lines: the edge of ── later keys, - - other documents' at screen 16.0/1173,1-528.0/559 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'

# The place of the picture in the sheet.
set lmargin at screen 97.0/1173
set rmargin at screen 369.0/1173
set tmargin at screen 1-127.0/559
set bmargin at screen 1-399.0/559

# The axes; of a map the first row is on top.
set xrange [-0.5:8-0.5]
set yrange [8-0.5:-0.5]

# The range of the colours.
set cbrange [0:1]
set format cb '%.3g'

# The bar of colours.
set colorbox vertical user origin 389.0/1173,1-344.0/559 size 14.0/1173,163.0/559 border
unset colorbox
set label 'query' at screen 20.0/1173,1-263.0/559 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'key' at screen 233.0/1173,1-467.0/559 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'this recording' at screen 97.0/1173,1-113.0/559 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
unset border
set object rectangle from screen (97-1.5)/1173,1-(127-1.5)/559 to screen (369+1.5)/1173,1-(399+1.5)/559 noclip front linewidth 1 fillstyle empty border linecolor rgb '#57606a'

# Numbers or labels along the axes.
set xtics rotate by 90 right ('0 #1' 0, '1 #4' 1, '2 #17' 2, '3 #26' 3, '4 #5' 4, '5 #31' 5, '6 #12' 6, '7 #4' 7)
set ytics  ('0 #1' 0, '1 #4' 1, '2 #17' 2, '3 #26' 3, '4 #5' 4, '5 #31' 5, '6 #12' 6, '7 #4' 7)

# The data, as text files beside this one, and how they are drawn.
plot 'cells.txt' matrix using 1:2:3 with image pixels, \
     'edges.txt' using 1:2:3:4 with vectors nohead linewidth 3 linecolor rgb '#ffffff', \
     'edges.txt' using 1:2:3:4 with vectors nohead linewidth 1 linecolor rgb '#1b1f24', \
     'leaks.txt' using 1:2:(0.4) with circles fillstyle empty linewidth 4 linecolor rgb '#ffffff', \
     'leaks.txt' using 1:2:(0.4) with circles fillstyle empty linewidth 2 linecolor rgb '#e8371b'
unset label
unset object
unset arrow
set cbtics autofreq
unset logscale cb
set lmargin at screen 393.0/1173
set rmargin at screen 665.0/1173
set tmargin at screen 1-127.0/559
set bmargin at screen 1-399.0/559
set xrange [-0.5:8-0.5]
set yrange [8-0.5:-0.5]
set cbrange [0:1]
set format cb '%.3g'
set colorbox vertical user origin 685.0/1173,1-344.0/559 size 14.0/1173,163.0/559 border
set label 'key' at screen 529.0/1173,1-467.0/559 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'the other' at screen 393.0/1173,1-113.0/559 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
unset border
set object rectangle from screen (393-1.5)/1173,1-(127-1.5)/559 to screen (665+1.5)/1173,1-(399+1.5)/559 noclip front linewidth 1 fillstyle empty border linecolor rgb '#57606a'
set xtics rotate by 90 right ('0 #1' 0, '1 #4' 1, '2 #17' 2, '3 #26' 3, '4 #5' 4, '5 #31' 5, '6 #12' 6, '7 #4' 7)
unset ytics
plot 'cells2.txt' matrix using 1:2:3 with image pixels, \
     'edges2.txt' using 1:2:3:4 with vectors nohead linewidth 3 linecolor rgb '#ffffff', \
     'edges2.txt' using 1:2:3:4 with vectors nohead linewidth 1 linecolor rgb '#1b1f24'
unset label
unset object
unset arrow
set cbtics autofreq
unset logscale cb
set palette defined (0 '#0b3c7d', 1 '#3f7fc1', 2 '#9cc4e4', 3 '#f0f0ee', 4 '#f6bd83', 5 '#dd7a1f', 6 '#8f3f06')
set lmargin at screen 775.0/1173
set rmargin at screen 1047.0/1173
set tmargin at screen 1-127.0/559
set bmargin at screen 1-399.0/559
set xrange [-0.5:8-0.5]
set yrange [8-0.5:-0.5]
set cbrange [-0.8109434665446476:0.8109434665446476]
set format cb '%.3g'
set colorbox vertical user origin 1067.0/1173,1-344.0/559 size 14.0/1173,163.0/559 border
set label 'key' at screen 911.0/1173,1-467.0/559 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'the other minus this' at screen 775.0/1173,1-113.0/559 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
unset border
set object rectangle from screen (775-1.5)/1173,1-(127-1.5)/559 to screen (1047+1.5)/1173,1-(399+1.5)/559 noclip front linewidth 1 fillstyle empty border linecolor rgb '#57606a'
set xtics rotate by 90 right ('0 #1' 0, '1 #4' 1, '2 #17' 2, '3 #26' 3, '4 #5' 4, '5 #31' 5, '6 #12' 6, '7 #4' 7)
unset ytics
plot 'cells3.txt' matrix using 1:2:3 with image pixels, \
     'edges3.txt' using 1:2:3:4 with vectors nohead linewidth 3 linecolor rgb '#ffffff', \
     'edges3.txt' using 1:2:3:4 with vectors nohead linewidth 1 linecolor rgb '#1b1f24'
unset multiplot
set output
