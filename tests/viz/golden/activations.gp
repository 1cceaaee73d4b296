# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 900,1060 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'

# Title, notes and titles of axes: text, place, size, colour.
set label 'Size of values by layer' at screen 16.0/900,1-22.0/1060 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'Valid tokens and cells that are seen; of 3 steps the largest; this run is in float64; 7 more values are not drawn' at screen 16.0/900,1-44.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'faults planted: mask_off_by_one layers=1' at screen 16.0/900,1-61.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'Headroom: the largest of all layers is 18.162, in layers.2.resid.mid: a factor of 3607 below the end of float16' at screen 16.0/900,1-1016.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label '(65504), a factor of 1.9e+37 below the end of float32 and bf16 (3.4028e+38)' at screen 16.0/900,1-1033.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set multiplot
unset logscale y

# The place of the picture in the sheet.
set lmargin at screen 103.0/900
set rmargin at screen 664.0/900
set tmargin at screen 1-86.0/1060
set bmargin at screen 1-443.0/1060

# The axes; of a map the first row is on top.
set xrange [-0.5:1-0.5]
set yrange [1-0.5:-0.5]
set xrange [-2.5:4.5]
set yrange [1:1000000]
set logscale y
set ytics ('1' 1, '10' 10, '100' 100, '1000' 1000, '1e4' 10000, '1e5' 100000, '1e6' 1000000)

# Numbers or labels along the axes.
set xtics rotate by 90 right ('embed.tok' -2, 'embed.out' -1, 'final.norm' 3, 'logits' 4, 'layer 0' 0, 'layer 1' 1, 'layer 2' 2)
set label 'largest size' at screen 20.0/900,1-264.0/1060 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'in order of execution' at screen 383.0/900,1-539.0/1060 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from graph 0,first 65504 to graph 1,first 65504 nohead front dashtype 2 linewidth 1.5 linecolor rgb '#e8371b'
set arrow from screen 684.0/900,screen 1-94.0/1060 to screen 710.0/900,screen 1-94.0/1060 nohead linewidth 1.5 linecolor rgb '#0072b2'
set label '' at screen 697.0/900,screen 1-94.0/1060 point pointtype 7 pointsize 0.8 linecolor rgb '#0072b2'
set label 'attn.k' at screen 718.0/900,1-94.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-115.0/1060 to screen 710.0/900,screen 1-115.0/1060 nohead linewidth 1.5 linecolor rgb '#d55e00'
set label '' at screen 697.0/900,screen 1-115.0/1060 point pointtype 5 pointsize 0.8 linecolor rgb '#d55e00'
set label 'attn.v' at screen 718.0/900,1-115.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-136.0/1060 to screen 710.0/900,screen 1-136.0/1060 nohead linewidth 1.5 linecolor rgb '#009e73'
set label '' at screen 697.0/900,screen 1-136.0/1060 point pointtype 9 pointsize 0.8 linecolor rgb '#009e73'
set label 'attn.scores' at screen 718.0/900,1-136.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-157.0/1060 to screen 710.0/900,screen 1-157.0/1060 nohead linewidth 1.5 linecolor rgb '#8a5a9e'
set label '' at screen 697.0/900,screen 1-157.0/1060 point pointtype 13 pointsize 0.8 linecolor rgb '#8a5a9e'
set label 'attn.heads' at screen 718.0/900,1-157.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-178.0/1060 to screen 710.0/900,screen 1-178.0/1060 nohead linewidth 1.5 linecolor rgb '#56b4e9'
set label '' at screen 697.0/900,screen 1-178.0/1060 point pointtype 7 pointsize 0.8 linecolor rgb '#56b4e9'
set label 'attn.out' at screen 718.0/900,1-178.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-199.0/1060 to screen 710.0/900,screen 1-199.0/1060 nohead linewidth 1.5 linecolor rgb '#b8860b'
set label '' at screen 697.0/900,screen 1-199.0/1060 point pointtype 5 pointsize 0.8 linecolor rgb '#b8860b'
set label 'mlp.act' at screen 718.0/900,1-199.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-220.0/1060 to screen 710.0/900,screen 1-220.0/1060 nohead linewidth 1.5 linecolor rgb '#4d4d4d'
set label '' at screen 697.0/900,screen 1-220.0/1060 point pointtype 9 pointsize 0.8 linecolor rgb '#4d4d4d'
set label 'mlp.out' at screen 718.0/900,1-220.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-241.0/1060 to screen 710.0/900,screen 1-241.0/1060 nohead linewidth 1.5 linecolor rgb '#cc79a7'
set label '' at screen 697.0/900,screen 1-241.0/1060 point pointtype 13 pointsize 0.8 linecolor rgb '#cc79a7'
set label 'resid.post' at screen 718.0/900,1-241.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label '' at screen 697.0/900,screen 1-262.0/1060 point pointtype 5 pointsize 0.8 linecolor rgb '#0072b2'
set label 'outside the layers' at screen 718.0/900,1-262.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-283.0/1060 to screen 710.0/900,screen 1-283.0/1060 nohead dashtype 2 linewidth 1.5 linecolor rgb '#e8371b'
set label 'float16 ends at 65504' at screen 718.0/900,1-283.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'

# The data, as text files beside this one, and how they are drawn.
plot 'data0.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#0072b2', \
     'data1.txt' using 1:2 with linespoints linewidth 1.5 pointtype 5 pointsize 0.7 linecolor rgb '#d55e00', \
     'data2.txt' using 1:2 with linespoints linewidth 1.5 pointtype 9 pointsize 0.7 linecolor rgb '#009e73', \
     'data3.txt' using 1:2 with linespoints linewidth 1.5 pointtype 13 pointsize 0.7 linecolor rgb '#8a5a9e', \
     'data4.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#56b4e9', \
     'data5.txt' using 1:2 with linespoints linewidth 1.5 pointtype 5 pointsize 0.7 linecolor rgb '#b8860b', \
     'data6.txt' using 1:2 with linespoints linewidth 1.5 pointtype 9 pointsize 0.7 linecolor rgb '#4d4d4d', \
     'data7.txt' using 1:2 with linespoints linewidth 1.5 pointtype 13 pointsize 0.7 linecolor rgb '#cc79a7', \
     'data8.txt' using 1:2 with points linewidth 1.5 pointtype 5 pointsize 0.7 linecolor rgb '#0072b2'
unset label
unset object
unset arrow
unset logscale y
set lmargin at screen 103.0/900
set rmargin at screen 664.0/900
set tmargin at screen 1-568.0/1060
set bmargin at screen 1-891.0/1060
set xrange [-0.5:1-0.5]
set yrange [1-0.5:-0.5]
set xrange [-2.5:4.5]
set yrange [0.1:10]
set logscale y
set ytics ('0.1' 0.1, '1' 1, '10' 10)
set xtics rotate by 90 right ('embed.tok' -2, 'embed.out' -1, 'final.norm' 3, 'logits' 4, 'layer 0' 0, 'layer 1' 1, 'layer 2' 2)
set label 'root mean square' at screen 20.0/900,1-729.0/1060 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'in order of execution' at screen 383.0/900,1-987.0/1060 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-576.0/1060 to screen 710.0/900,screen 1-576.0/1060 nohead linewidth 1.5 linecolor rgb '#0072b2'
set label '' at screen 697.0/900,screen 1-576.0/1060 point pointtype 7 pointsize 0.8 linecolor rgb '#0072b2'
set label 'attn.k' at screen 718.0/900,1-576.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-597.0/1060 to screen 710.0/900,screen 1-597.0/1060 nohead linewidth 1.5 linecolor rgb '#d55e00'
set label '' at screen 697.0/900,screen 1-597.0/1060 point pointtype 5 pointsize 0.8 linecolor rgb '#d55e00'
set label 'attn.v' at screen 718.0/900,1-597.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-618.0/1060 to screen 710.0/900,screen 1-618.0/1060 nohead linewidth 1.5 linecolor rgb '#009e73'
set label '' at screen 697.0/900,screen 1-618.0/1060 point pointtype 9 pointsize 0.8 linecolor rgb '#009e73'
set label 'attn.scores' at screen 718.0/900,1-618.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-639.0/1060 to screen 710.0/900,screen 1-639.0/1060 nohead linewidth 1.5 linecolor rgb '#8a5a9e'
set label '' at screen 697.0/900,screen 1-639.0/1060 point pointtype 13 pointsize 0.8 linecolor rgb '#8a5a9e'
set label 'attn.heads' at screen 718.0/900,1-639.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-660.0/1060 to screen 710.0/900,screen 1-660.0/1060 nohead linewidth 1.5 linecolor rgb '#56b4e9'
set label '' at screen 697.0/900,screen 1-660.0/1060 point pointtype 7 pointsize 0.8 linecolor rgb '#56b4e9'
set label 'attn.out' at screen 718.0/900,1-660.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-681.0/1060 to screen 710.0/900,screen 1-681.0/1060 nohead linewidth 1.5 linecolor rgb '#b8860b'
set label '' at screen 697.0/900,screen 1-681.0/1060 point pointtype 5 pointsize 0.8 linecolor rgb '#b8860b'
set label 'mlp.act' at screen 718.0/900,1-681.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-702.0/1060 to screen 710.0/900,screen 1-702.0/1060 nohead linewidth 1.5 linecolor rgb '#4d4d4d'
set label '' at screen 697.0/900,screen 1-702.0/1060 point pointtype 9 pointsize 0.8 linecolor rgb '#4d4d4d'
set label 'mlp.out' at screen 718.0/900,1-702.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set arrow from screen 684.0/900,screen 1-723.0/1060 to screen 710.0/900,screen 1-723.0/1060 nohead linewidth 1.5 linecolor rgb '#cc79a7'
set label '' at screen 697.0/900,screen 1-723.0/1060 point pointtype 13 pointsize 0.8 linecolor rgb '#cc79a7'
set label 'resid.post' at screen 718.0/900,1-723.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label '' at screen 697.0/900,screen 1-744.0/1060 point pointtype 5 pointsize 0.8 linecolor rgb '#0072b2'
set label 'outside the layers' at screen 718.0/900,1-744.0/1060 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
plot 'data9.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#0072b2', \
     'data10.txt' using 1:2 with linespoints linewidth 1.5 pointtype 5 pointsize 0.7 linecolor rgb '#d55e00', \
     'data11.txt' using 1:2 with linespoints linewidth 1.5 pointtype 9 pointsize 0.7 linecolor rgb '#009e73', \
     'data12.txt' using 1:2 with linespoints linewidth 1.5 pointtype 13 pointsize 0.7 linecolor rgb '#8a5a9e', \
     'data13.txt' using 1:2 with linespoints linewidth 1.5 pointtype 7 pointsize 0.7 linecolor rgb '#56b4e9', \
     'data14.txt' using 1:2 with linespoints linewidth 1.5 pointtype 5 pointsize 0.7 linecolor rgb '#b8860b', \
     'data15.txt' using 1:2 with linespoints linewidth 1.5 pointtype 9 pointsize 0.7 linecolor rgb '#4d4d4d', \
     'data16.txt' using 1:2 with linespoints linewidth 1.5 pointtype 13 pointsize 0.7 linecolor rgb '#cc79a7', \
     'data17.txt' using 1:2 with points linewidth 1.5 pointtype 5 pointsize 0.7 linecolor rgb '#0072b2'
unset label
unset object
unset arrow
unset multiplot
set output
