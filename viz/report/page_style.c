/* SPDX-License-Identifier: MIT
 *
 * The report's style sheet. No script and no font is loaded: the page is one file that
 * opens in ten years too. Tables scroll by themselves on a narrow screen.
 */
#include "viz/report/html.h"

const char *const txd_html_style[] = {
    ":root{color-scheme:light dark;--ink:#1b1f24;--quiet:#57606a;--page:#fff;",
    "--box:#f6f8fa;--line:#d0d7de;--pass:#116329;--fail:#b3261e;--warn:#7d4e00;",
    "--info:#0550ae}\n",
    "@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--quiet:#9aa4af;",
    "--page:#0d1117;--box:#161b22;--line:#30363d;--pass:#56d364;--fail:#ff7b72;",
    "--warn:#e3b341;--info:#79c0ff}}\n",
    "*{box-sizing:border-box}\n",
    "body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--page);",
    "color:var(--ink);font:16px/1.5 system-ui,'DejaVu Sans',sans-serif;",
    "overflow-wrap:anywhere}\n",
    "h1{font-size:1.6rem;margin:.2em 0}h2{font-size:1.25rem;margin:2rem 0 .6rem}\n",
    "h3{font-size:1rem;margin:0 0 .3rem}p{margin:.4em 0}\n",
    "code,pre{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:.9em}\n",
    "q{unicode-bidi:isolate}\n", /* Hebrew turns no number beside it around */
    "pre{white-space:pre-wrap;background:var(--box);padding:.8rem;border-radius:6px}\n",
    ".quiet{color:var(--quiet)}\n",
    ".summary{font-size:1.15rem;font-weight:600}\n",
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:0}\n",
    "dt{color:var(--quiet)}dd{margin:0}\n",
    "@media (max-width:34rem){dl{display:block}dd{margin:0 0 .5rem}}\n",
    ".scroll{overflow-x:auto}\n",
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;",
    "overflow-wrap:normal}\n",
    "th,td{border-bottom:1px solid var(--line);padding:.3rem .7rem .3rem 0;",
    "text-align:left;vertical-align:top}\n",
    "td.number,th.number{text-align:right;white-space:nowrap}\n",
    "td.note{min-width:16rem}\n",
    ".verdict{font-weight:700;text-transform:uppercase;font-size:.85em}\n",
    ".pass{color:var(--pass)}.fail,.open{color:var(--fail)}\n",
    ".warn,.skip{color:var(--warn)}.info{color:var(--info)}\n",
    ".finding{border-left:4px solid var(--line);background:var(--box);",
    "padding:.6rem .8rem;margin:.6rem 0;border-radius:0 6px 6px 0}\n",
    ".finding.fail{border-color:var(--fail)}.finding.warn{border-color:var(--warn)}\n",
    ".finding.fail,.finding.warn,.finding.info{color:var(--ink)}\n",
    "figure{margin:1.2rem 0;break-inside:avoid}\n",
    "figcaption{color:var(--quiet);margin-bottom:.4rem}\n",
    "img{display:block;max-width:100%;height:auto;background:#fff;",
    "border:1px solid var(--line);border-radius:6px}\n",
    "@media (max-width:45rem){.picture{overflow-x:auto}",
    ".picture img{max-width:none;width:44rem}}\n",
    "a,summary{color:var(--info)}summary{cursor:pointer}\n",
    "@media print{body{max-width:none;padding:0;font-size:11pt}",
    "table{font-size:8pt}th,td{padding-right:.5rem}td.note{min-width:9rem}",
    ".scroll,.picture{overflow:visible}.picture "
    "img{max-width:100%;width:auto}a{color:inherit}}\n",
    NULL,
};
