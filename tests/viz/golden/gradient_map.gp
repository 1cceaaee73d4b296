# A picture by txdiag: `gnuplot picture.gp` in this folder draws picture.svg again.
# Places are fractions of the sheet, out of its size in pixels. Of blank cells
# gnuplot says that they are undefined values.
set encoding utf8

# Format, size in pixels and font. For a paper: pdfcairo, and a size in inches.
set terminal svg noenhanced size 560,314 font 'DejaVu Sans,12' background '#ffffff'
set output 'picture.svg'

# The colours, from the lowest value to the highest.
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'

# Title, notes and titles of axes: text, place, size, colour.
set label 'Gradient norms by layer and step' at screen 16.0/560,1-22.0/314 left noenhanced font 'DejaVu Sans,16' textcolor rgb '#1b1f24'
set label 'L2 norm of the gradient of the loss by all parameters of each' at screen 16.0/560,1-44.0/314 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'layer; 3 steps; colours logarithmic from 0.0001 to 100' at screen 16.0/560,1-61.0/314 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'Healthy, in blue and green: 0.001 to 10. Violet, below: 0 of the' at screen 16.0/560,1-78.0/314 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'norms; yellow, above: 0' at screen 16.0/560,1-95.0/314 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'
set label 'faults planted: mask_off_by_one layers=1' at screen 16.0/560,1-112.0/314 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#57606a'

# The place of the picture in the sheet.
set lmargin at screen 97.0/560
set rmargin at screen 199.0/560
set tmargin at screen 1-137.0/314
set bmargin at screen 1-239.0/314

# The axes; of a map the first row is on top.
set xrange [-0.5:3-0.5]
set yrange [3-0.5:-0.5]

# The scale of the colours.
set logscale cb

# The range of the colours.
set cbrange [0.0001:100]
set format cb '%.3g'
set cbtics (0.0001, 100)

# The bar of colours.
set colorbox vertical user origin 219.0/560,1-239.0/314 size 14.0/560,102.0/314 border
set label 'layer' at screen 20.0/560,1-188.0/314 center rotate by 90 noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'step' at screen 148.0/560,1-273.0/314 center noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set palette defined (0 '#12052b', 0.16666666666666666 '#54257c', 0.16666666666666666 '#2a6f9e', 0.8333333333333334 '#66b58a', 0.8333333333333334 '#f5cb45', 1 '#fffbe6')
set cbtics ('1e-4' 0.0001, '0.001' 0.001, '0.01' 0.01, '0.1' 0.1, '1' 1, '10' 10, '100' 100)

# Numbers or labels along the axes.
set xtics  ('0' 0, '1' 1, '2' 2)
set ytics  ('0' 0, '1' 1, '2' 2)

# The data, as text files beside this one, and how they are drawn.
plot 'cells.txt' matrix using 1:2:3 with image pixels
set output
