set encoding utf8
set terminal pngcairo noenhanced size 560,519 font 'DejaVu Sans,9' background '#ffffff'
set output 'picture'
set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')
unset key
set border 15 linewidth 1 linecolor rgb '#57606a'
set tics nomirror out scale 0.4 textcolor rgb '#1b1f24'
set label 'layers.0.attn.weights, head 1' at screen 16.0/560,1-22.0/519 left noenhanced font 'DejaVu Sans,12' textcolor rgb '#1b1f24'
set label 'step 0, batch 0; colours linear from 0 to 1' at screen 16.0/560,1-44.0/519 left noenhanced font 'DejaVu Sans,9' textcolor rgb '#57606a'
set label 'faults planted: '."'".'x'."'".'\nplot y' at screen 16.0/560,1-61.0/519 left noenhanced font 'DejaVu Sans,9' textcolor rgb '#57606a'
set label 'Marked in this colour: 1 hidden cell that is not 0; largest 0.25 at' at screen 16.0/560,1-403.0/519 left noenhanced font 'DejaVu Sans,9' textcolor rgb '#e8371b'
set label 'query 4, key 6' at screen 16.0/560,1-420.0/519 left noenhanced font 'DejaVu Sans,9' textcolor rgb '#e8371b'
set label 'Marked in this colour: 1 value that is NaN or infinite, first at' at screen 16.0/560,1-437.0/519 left noenhanced font 'DejaVu Sans,9' textcolor rgb '#e000d0'
set label 'query 6, key 5' at screen 16.0/560,1-454.0/519 left noenhanced font 'DejaVu Sans,9' textcolor rgb '#e000d0'
set label 'Blank: hidden by the claimed mask (causal)' at screen 16.0/560,1-471.0/519 left noenhanced font 'DejaVu Sans,9' textcolor rgb '#57606a'
set label 'Lines: the edge of ── later keys' at screen 16.0/560,1-488.0/519 left noenhanced font 'DejaVu Sans,9' textcolor rgb '#57606a'
set lmargin at screen 217.0/560
set rmargin at screen 319.0/560
set tmargin at screen 1-86.0/519
set bmargin at screen 1-188.0/519
set xrange [-0.5:3-0.5]
set yrange [3-0.5:-0.5]
set cbrange [0:1]
set format cb '%.3g'
set cbtics (0, 1)
set colorbox vertical user origin 339.0/560,1-188.0/519 size 14.0/560,102.0/519 border
set label 'query' at screen 20.0/560,1-137.0/519 center rotate by 90 noenhanced font 'DejaVu Sans,9' textcolor rgb '#1b1f24'
set label 'key' at screen 268.0/560,1-376.0/519 center noenhanced font 'DejaVu Sans,9' textcolor rgb '#1b1f24'
unset border
set object rectangle from screen (217-1.5)/560,1-(86-1.5)/519 to screen (319+1.5)/560,1-(188+1.5)/519 noclip front linewidth 1 fillstyle empty border linecolor rgb '#57606a'
set xtics rotate by 90 right ('4 it'."'".'s' 0, '5 100%%' 1, '6 `!touch x`\n'."'".'!touch y' 2)
set ytics  ('4 it'."'".'s' 0, '5 100%%' 1, '6 `!touch x`\n'."'".'!touch y' 2)
plot 'cells' binary array=(3,3) format='%double' using 1 with image, \
     'edges' binary record=(4) format='%double%double%double%double' using 1:2:3:4 with vectors nohead linewidth 3 linecolor rgb '#ffffff', \
     'edges' binary record=(4) format='%double%double%double%double' using 1:2:3:4 with vectors nohead linewidth 1 linecolor rgb '#1b1f24', \
     'leaks' binary record=(1) format='%double%double' using 1:2:(0.4) with circles fillstyle empty linewidth 4 linecolor rgb '#ffffff', \
     'leaks' binary record=(1) format='%double%double' using 1:2:(0.4) with circles fillstyle empty linewidth 2 linecolor rgb '#e8371b', \
     'nonfinite' binary record=(1) format='%double%double' using 1:2:(0.4) with circles fillstyle empty linewidth 4 linecolor rgb '#ffffff', \
     'nonfinite' binary record=(1) format='%double%double' using 1:2:(0.4) with circles fillstyle empty linewidth 2 linecolor rgb '#e000d0'
set output
