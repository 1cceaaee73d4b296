# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 900,439 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'

# Title, notes and titles of axes: text, place, size, colour.
set label 'Gradient norms by layer: layers.*@grad' at screen 16.0/900,1-22.0/439 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'L2 norm of the gradient of the loss by all parameters of each layer; 3 steps' at screen 16.0/900,1-44.0/439 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'faults planted: mask_off_by_one layers=1' at screen 16.0/900,1-61.0/439 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set multiplot
unset logscale y

# The place of the picture in the sheet.
set lmargin at screen 103.0/900
set rmargin at screen 664.0/900
set tmargin at screen 1-86.0/439
set bmargin at screen 1-366.0/439

# The axes; of a map the first row is on top.
set xrange [-0.5:1-0.5]
set yrange [1-0.5:-0.5]
set xrange [-0.5:2.5]
set yrange [0.0001:10000]
set logscale y
set ytics ('1e-4' 0.0001, '0.001' 0.001, '0.01' 0.01, '0.1' 0.1, '1' 1, '10' 10, '100' 100, '1000' 1000, '1e4' 10000)

# Numbers or labels along the axes.
set xtics norotate center ('0' 0, '1' 1, '2' 2)
set label 'gradient norm' at screen 20.0/900,1-226.0/439 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'layer' at screen 383.0/900,1-400.0/439 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set object rectangle from graph 0,first 0.001 to graph 1,first 10 behind fillcolor rgb '#e3f3e6' fillstyle solid noborder
set arrow from graph 0,first 1000 to graph 1,first 1000 nohead front dashtype 2 linewidth 1.5 linecolor rgb '#e8371b'
set arrow from screen 684.0/900,screen 1-94.0/439 to screen 710.0/900,screen 1-94.0/439 nohead linewidth 1.5 linecolor rgb '#440154'
set label '' at screen 697.0/900,screen 1-94.0/439 point pointtype 7 pointsize 0.8 linecolor rgb '#440154'
set label 'step 0' at screen 718.0/900,1-94.0/439 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-115.0/439 to screen 710.0/900,screen 1-115.0/439 nohead linewidth 1.5 linecolor rgb '#277f8e'
set label '' at screen 697.0/900,screen 1-115.0/439 point pointtype 7 pointsize 0.8 linecolor rgb '#277f8e'
set label 'step 1' at screen 718.0/900,1-115.0/439 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-136.0/439 to screen 710.0/900,screen 1-136.0/439 nohead linewidth 1.5 linecolor rgb '#9cc82d'
set label '' at screen 697.0/900,screen 1-136.0/439 point pointtype 7 pointsize 0.8 linecolor rgb '#9cc82d'
set label 'step 2' at screen 718.0/900,1-136.0/439 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-157.0/439 to screen 710.0/900,screen 1-157.0/439 nohead dashtype 2 linewidth 1.5 linecolor rgb '#e8371b'
set label 'exploding above 1000' at screen 718.0/900,1-157.0/439 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set object rectangle from screen 684.0/900,screen 1-184.0/439 to screen 710.0/900,screen 1-172.0/439 fillcolor rgb '#e3f3e6' fillstyle solid border linecolor rgb '#b9d9c0'
set label 'healthy: 0.001 to 10' at screen 718.0/900,1-178.0/439 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'

# The data, as text files beside this one, and how they are drawn.
plot 'data0.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#440154', \
     'data1.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#277f8e', \
     'data2.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#9cc82d'
unset label
unset object
unset arrow
unset multiplot
set output
