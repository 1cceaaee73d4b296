# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 900,765 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'

# Title, notes and titles of axes: text, place, size, colour.
set label 'Loss and gradient norm over steps' at screen 16.0/900,1-22.0/765 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'faults planted: mask_off_by_one layers=1' at screen 16.0/900,1-44.0/765 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set multiplot
unset logscale y

# The place of the picture in the sheet.
set lmargin at screen 103.0/900
set rmargin at screen 664.0/900
set tmargin at screen 1-69.0/765
set bmargin at screen 1-349.0/765

# The axes; of a map the first row is on top.
set xrange [-0.5:1-0.5]
set yrange [1-0.5:-0.5]
set xrange [-0.5:2.5]
set yrange [3.3000419443019244:4.4767082519383035]
set format y '%.4g'
set ytics autofreq

# Numbers or labels along the axes.
set xtics norotate center ('0' 0, '1' 1, '2' 2)
set label 'loss' at screen 20.0/900,1-209.0/765 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'step' at screen 383.0/900,1-383.0/765 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from graph 0,first 3.6888794541139363 to graph 1,first 3.6888794541139363 nohead front dashtype 2 linewidth 1.5 linecolor rgb '#57606a'
set arrow from screen 684.0/900,screen 1-77.0/765 to screen 710.0/900,screen 1-77.0/765 nohead dashtype 2 linewidth 1.5 linecolor rgb '#57606a'
set label 'guessing evenly: ln' at screen 718.0/900,1-77.0/765 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label '40 = 3.689' at screen 718.0/900,1-94.0/765 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'

# The data, as text files beside this one, and how they are drawn.
plot 'data0.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#0072b2'
unset label
unset object
unset arrow
unset logscale y
set lmargin at screen 103.0/900
set rmargin at screen 664.0/900
set tmargin at screen 1-412.0/765
set bmargin at screen 1-692.0/765
set xrange [-0.5:1-0.5]
set yrange [1-0.5:-0.5]
set xrange [-0.5:2.5]
set yrange [0.0001:10000]
set logscale y
set ytics ('1e-4' 0.0001, '0.001' 0.001, '0.01' 0.01, '0.1' 0.1, '1' 1, '10' 10, '100' 100, '1000' 1000, '1e4' 10000)
set xtics norotate center ('0' 0, '1' 1, '2' 2)
set label 'norm of the whole gradient' at screen 20.0/900,1-552.0/765 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'step' at screen 383.0/900,1-726.0/765 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set object rectangle from graph 0,first 0.001 to graph 1,first 10 behind fillcolor rgb '#e3f3e6' fillstyle solid noborder
set arrow from graph 0,first 1000 to graph 1,first 1000 nohead front dashtype 2 linewidth 1.5 linecolor rgb '#e8371b'
set arrow from screen 684.0/900,screen 1-420.0/765 to screen 710.0/900,screen 1-420.0/765 nohead dashtype 2 linewidth 1.5 linecolor rgb '#e8371b'
set label 'exploding above 1000' at screen 718.0/900,1-420.0/765 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set object rectangle from screen 684.0/900,screen 1-447.0/765 to screen 710.0/900,screen 1-435.0/765 fillcolor rgb '#e3f3e6' fillstyle solid border linecolor rgb '#b9d9c0'
set label 'healthy: 0.001 to 10' at screen 718.0/900,1-441.0/765 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
plot 'data1.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#0072b2'
unset label
unset object
unset arrow
unset multiplot
set output
