# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 900,833 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'

# Title, notes and titles of axes: text, place, size, colour.
set label 'Weight of keys by their distance from the query' at screen 16.0/900,1-22.0/833 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'Mean over all pairs of a distance that the claimed mask lets see, or that have weight although it hides them;' at screen 16.0/900,1-44.0/833 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'lines: means over the heads of a layer; grey: from the lowest to the highest head of any layer; step 0, all' at screen 16.0/900,1-61.0/833 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'batch rows; both axes logarithmic' at screen 16.0/900,1-78.0/833 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'faults planted: mask_off_by_one layers=1' at screen 16.0/900,1-95.0/833 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'Keys after the query have weight in layer 1, though the claimed mask is causal' at screen 16.0/900,1-806.0/833 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#e8371b'
set multiplot
unset logscale y

# The place of the picture in the sheet.
set lmargin at screen 103.0/900
set rmargin at screen 664.0/900
set tmargin at screen 1-120.0/833
set bmargin at screen 1-400.0/833

# The axes; of a map the first row is on top.
set xrange [-0.5:1-0.5]
set yrange [1-0.5:-0.5]
set xrange [-0.5:3.5]
set yrange [0.001:1]
set logscale y
set ytics ('0.001' 0.001, '0.01' 0.01, '0.1' 0.1, '1' 1)

# Numbers or labels along the axes.
set xtics norotate center ('0' 0, '1' 1, '2' 1.584962500721156, '4' 2.321928094887362)
set label 'mean weight' at screen 20.0/900,1-260.0/833 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'keys before the query, by distance (0 is its own)' at screen 383.0/900,1-434.0/833 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-128.0/833 to screen 710.0/900,screen 1-128.0/833 nohead linewidth 1.5 linecolor rgb '#440154'
set label '' at screen 697.0/900,screen 1-128.0/833 point pointtype 7 pointsize 0.8 linecolor rgb '#440154'
set label 'layer 0' at screen 718.0/900,1-128.0/833 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-149.0/833 to screen 710.0/900,screen 1-149.0/833 nohead linewidth 1.5 linecolor rgb '#365c8d'
set label '' at screen 697.0/900,screen 1-149.0/833 point pointtype 7 pointsize 0.8 linecolor rgb '#365c8d'
set label 'layer 1' at screen 718.0/900,1-149.0/833 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-170.0/833 to screen 710.0/900,screen 1-170.0/833 nohead linewidth 1.5 linecolor rgb '#1fa187'
set label '' at screen 697.0/900,screen 1-170.0/833 point pointtype 7 pointsize 0.8 linecolor rgb '#1fa187'
set label 'layer 2' at screen 718.0/900,1-170.0/833 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-191.0/833 to screen 710.0/900,screen 1-191.0/833 nohead dashtype 3 linewidth 2 linecolor rgb '#1b1f24'
set label 'if all seen keys' at screen 718.0/900,1-191.0/833 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'were alike' at screen 718.0/900,1-208.0/833 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'

# The data, as text files beside this one, and how they are drawn.
plot 'data0.txt' using 1:2:3 with filledcurves fillcolor rgb '#c3c9d2', \
     'data1.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#440154', \
     'data2.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#365c8d', \
     'data3.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#1fa187', \
     'data4.txt' using 1:2 with lines dashtype 3 linewidth 2 linecolor rgb '#1b1f24'
unset label
unset object
unset arrow
unset logscale y
set lmargin at screen 103.0/900
set rmargin at screen 664.0/900
set tmargin at screen 1-463.0/833
set bmargin at screen 1-743.0/833
set xrange [-0.5:1-0.5]
set yrange [1-0.5:-0.5]
set xrange [-0.5:3.5]
set yrange [0.01:1]
set logscale y
set ytics ('0.01' 0.01, '0.1' 0.1, '1' 1)
set xtics norotate center ('0' 0, '1' 1, '2' 1.584962500721156, '4' 2.321928094887362)
set label 'mean weight' at screen 20.0/900,1-603.0/833 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'keys after the query, by distance' at screen 383.0/900,1-777.0/833 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-471.0/833 to screen 710.0/900,screen 1-471.0/833 nohead linewidth 1.5 linecolor rgb '#365c8d'
set label '' at screen 697.0/900,screen 1-471.0/833 point pointtype 7 pointsize 0.8 linecolor rgb '#365c8d'
set label 'layer 1' at screen 718.0/900,1-471.0/833 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
plot 'data5.txt' using 1:2:3 with filledcurves fillcolor rgb '#c3c9d2', \
     'data6.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#365c8d'
unset label
unset object
unset arrow
unset multiplot
set output
