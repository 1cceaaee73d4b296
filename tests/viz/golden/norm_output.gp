# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 900,906 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'

# Title, notes and titles of axes: text, place, size, colour.
set label 'Outputs of the norms by layer' at screen 16.0/900,1-22.0/906 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'Claimed: rmsnorm, which promises the root mean square alone. Valid tokens; of 3 steps the value farthest from 1' at screen 16.0/900,1-44.0/906 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'faults planted: mask_off_by_one layers=1' at screen 16.0/900,1-61.0/906 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set multiplot
unset logscale y

# The place of the picture in the sheet.
set lmargin at screen 103.0/900
set rmargin at screen 664.0/900
set tmargin at screen 1-86.0/906
set bmargin at screen 1-366.0/906

# The axes; of a map the first row is on top.
set xrange [-0.5:1-0.5]
set yrange [1-0.5:-0.5]
set xrange [-0.5:3.5]
set yrange [0.31:2.29]
set format y '%.4g'
set ytics autofreq

# Numbers or labels along the axes.
set xtics rotate by 90 right ('final.norm' 3, 'layer 0' 0, 'layer 1' 1, 'layer 2' 2)
set label 'standard deviation' at screen 20.0/900,1-226.0/906 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'in order of execution' at screen 383.0/900,1-462.0/906 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set object rectangle from graph 0,first 0.8 to graph 1,first 1.2 behind fillcolor rgb '#e3f3e6' fillstyle solid noborder
set arrow from graph 0,first 0.5 to graph 1,first 0.5 nohead front dashtype 2 linewidth 1.5 linecolor rgb '#e8371b'
set arrow from graph 0,first 2 to graph 1,first 2 nohead front dashtype 2 linewidth 1.5 linecolor rgb '#e8371b'
set arrow from screen 684.0/900,screen 1-94.0/906 to screen 710.0/900,screen 1-94.0/906 nohead linewidth 1.5 linecolor rgb '#0072b2'
set label '' at screen 697.0/900,screen 1-94.0/906 point pointtype 7 pointsize 0.8 linecolor rgb '#0072b2'
set label 'norm1.out' at screen 718.0/900,1-94.0/906 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-115.0/906 to screen 710.0/900,screen 1-115.0/906 nohead linewidth 1.5 linecolor rgb '#d55e00'
set label '' at screen 697.0/900,screen 1-115.0/906 point pointtype 5 pointsize 0.8 linecolor rgb '#d55e00'
set label 'norm2.out' at screen 718.0/900,1-115.0/906 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label '' at screen 697.0/900,screen 1-136.0/906 point pointtype 9 pointsize 0.8 linecolor rgb '#009e73'
set label 'outside the layers' at screen 718.0/900,1-136.0/906 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-157.0/906 to screen 710.0/900,screen 1-157.0/906 nohead dashtype 2 linewidth 1.5 linecolor rgb '#e8371b'
set label 'far off below 0.5' at screen 718.0/900,1-157.0/906 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-178.0/906 to screen 710.0/900,screen 1-178.0/906 nohead dashtype 2 linewidth 1.5 linecolor rgb '#e8371b'
set label 'far off above 2' at screen 718.0/900,1-178.0/906 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set object rectangle from screen 684.0/900,screen 1-205.0/906 to screen 710.0/900,screen 1-193.0/906 fillcolor rgb '#e3f3e6' fillstyle solid border linecolor rgb '#b9d9c0'
set label 'usual: 0.8 to 1.2' at screen 718.0/900,1-199.0/906 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'

# The data, as text files beside this one, and how they are drawn.
plot 'data0.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#0072b2', \
     'data1.txt' using 1:2 with linespoints linewidth 1.5 pointtype 5 pointsize 0.7 linecolor rgb '#d55e00', \
     'data2.txt' using 1:2 with points linewidth 1.5 pointtype 9 pointsize 0.7 linecolor rgb '#009e73'
unset label
unset object
unset arrow
unset logscale y
set lmargin at screen 103.0/900
set rmargin at screen 664.0/900
set tmargin at screen 1-491.0/906
set bmargin at screen 1-771.0/906
set xrange [-0.5:1-0.5]
set yrange [1-0.5:-0.5]
set xrange [-0.5:3.5]
set yrange [0.31:2.29]
set format y '%.4g'
set ytics autofreq
set xtics rotate by 90 right ('final.norm' 3, 'layer 0' 0, 'layer 1' 1, 'layer 2' 2)
set label 'root mean square' at screen 20.0/900,1-631.0/906 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'in order of execution' at screen 383.0/900,1-867.0/906 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set object rectangle from graph 0,first 0.8 to graph 1,first 1.2 behind fillcolor rgb '#e3f3e6' fillstyle solid noborder
set arrow from graph 0,first 0.5 to graph 1,first 0.5 nohead front dashtype 2 linewidth 1.5 linecolor rgb '#e8371b'
set arrow from graph 0,first 2 to graph 1,first 2 nohead front dashtype 2 linewidth 1.5 linecolor rgb '#e8371b'
set arrow from screen 684.0/900,screen 1-499.0/906 to screen 710.0/900,screen 1-499.0/906 nohead linewidth 1.5 linecolor rgb '#0072b2'
set label '' at screen 697.0/900,screen 1-499.0/906 point pointtype 7 pointsize 0.8 linecolor rgb '#0072b2'
set label 'norm1.out' at screen 718.0/900,1-499.0/906 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-520.0/906 to screen 710.0/900,screen 1-520.0/906 nohead linewidth 1.5 linecolor rgb '#d55e00'
set label '' at screen 697.0/900,screen 1-520.0/906 point pointtype 5 pointsize 0.8 linecolor rgb '#d55e00'
set label 'norm2.out' at screen 718.0/900,1-520.0/906 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label '' at screen 697.0/900,screen 1-541.0/906 point pointtype 9 pointsize 0.8 linecolor rgb '#009e73'
set label 'outside the layers' at screen 718.0/900,1-541.0/906 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-562.0/906 to screen 710.0/900,screen 1-562.0/906 nohead dashtype 2 linewidth 1.5 linecolor rgb '#e8371b'
set label 'far off below 0.5' at screen 718.0/900,1-562.0/906 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-583.0/906 to screen 710.0/900,screen 1-583.0/906 nohead dashtype 2 linewidth 1.5 linecolor rgb '#e8371b'
set label 'far off above 2' at screen 718.0/900,1-583.0/906 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set object rectangle from screen 684.0/900,screen 1-610.0/906 to screen 710.0/900,screen 1-598.0/906 fillcolor rgb '#e3f3e6' fillstyle solid border linecolor rgb '#b9d9c0'
set label 'usual: 0.8 to 1.2' at screen 718.0/900,1-604.0/906 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
plot 'data3.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#0072b2', \
     'data4.txt' using 1:2 with linespoints linewidth 1.5 pointtype 5 pointsize 0.7 linecolor rgb '#d55e00', \
     'data5.txt' using 1:2 with points linewidth 1.5 pointtype 9 pointsize 0.7 linecolor rgb '#009e73'
unset label
unset object
unset arrow
unset multiplot
set output
