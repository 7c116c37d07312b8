#include "common/html/page_style.h"

#include <stddef.h>

/* The colours of runs and of parts of the time are distinct for people who do not see red and
 * green alike, on both backgrounds. */
const char *const PAGE_STYLE[] = {
    ":root{color-scheme:light dark;--back:#f6f7f9;--card:#fff;--ink:#1c2430;--soft:#5b6675;",
    "--line:#e3e7ec;--rail:#eef1f4;--good:#0f7b4d;--bad:#b3261e;--wait:#8a5a00;",
    "--c0:#2f6fde;--c1:#d9730d;--c2:#0b8a6f;--c3:#a63d9b;--c4:#6a7a14;--c5:#c23b52;--c6:#0e8bb0;",
    "--c7:#6d55c9;--t5:#9aa5b1}",
    "@media(prefers-color-scheme:dark){:root{--back:#12161c;--card:#1a2028;--ink:#e4e8ee;",
    "--soft:#97a3b2;--line:#2b333e;--rail:#242b35;--good:#4cc38a;--bad:#ff8a80;--wait:#e6b450;",
    "--c0:#6ea3ff;--c1:#f2a154;--c2:#45c4a5;--c3:#d98ad0;--c4:#b5c44f;--c5:#f47c8f;--c6:#56c2e2;",
    "--c7:#a996f5;--t5:#5f6b79}img{filter:brightness(.92)}}",
    "*{box-sizing:border-box}",
    "body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,-apple-system,",
    "'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif;-webkit-text-size-adjust:100%}",
    "main{max-width:1240px;margin:0 auto;padding:28px 20px 40px}",
    "h1{font-size:24px;line-height:1.25;margin:0 0 14px;overflow-wrap:anywhere;font-weight:650}",
    "h2{font-size:17px;margin:0 0 6px;font-weight:650}",
    "h3{font-size:14px;margin:16px 0 6px;font-weight:600;overflow-wrap:anywhere}",
    "section{margin:0 0 34px}",
    ".intro,.note,footer,small{color:var(--soft)}.intro{margin:0 0 12px;font-size:14px}",
    ".note{font-size:13px;margin:6px 0 0}small{font-weight:400;font-size:13px}",
    ".words{margin:0 0 14px;overflow-wrap:anywhere}.scroll+.words{margin-top:12px}",
    ".state{display:inline-block;border:1px solid;border-radius:99px;padding:0 9px;font-size:13px;",
    "white-space:nowrap;margin-right:4px}",
    ".good{color:var(--good)}.bad{color:var(--bad)}.wait{color:var(--wait)}",
    ".tiles,.grid{display:grid;gap:12px}",
    ".tiles{grid-template-columns:repeat(auto-fit,minmax(150px,1fr))}",
    ".grid{grid-template-columns:repeat(auto-fill,minmax(min(100%,350px),1fr));margin-top:10px}",
    ".tile,.card{background:var(--card);border:1px solid var(--line);border-radius:8px;",
    "padding:12px 14px;margin:0;min-width:0}",
    ".tile span{display:block;color:var(--soft);font-size:13px}",
    ".tile b{font-size:21px;font-weight:650}.tile b,.now,td,.legend,svg text{",
    "font-variant-numeric:tabular-nums}.tile small{display:inline-block}",
    ".card figcaption{display:flex;justify-content:space-between;gap:8px;margin:0 0 4px;",
    "font-size:14px;overflow-wrap:anywhere}.card figcaption b{font-weight:600}",
    ".now{color:var(--soft);white-space:nowrap}",
    "svg{display:block;width:100%;height:auto;overflow:visible}",
    "svg text{font-size:11px;fill:var(--soft)}svg .e{text-anchor:end}svg .m{text-anchor:middle}",
    ".unit{font-style:italic}",
    "path.grid{stroke:var(--line);fill:none}.axis,.tick{stroke:var(--soft);fill:none;opacity:.6}",
    ".line{fill:none;stroke:var(--c);stroke-width:1.6;stroke-linejoin:round;",
    "vector-effect:non-scaling-stroke}",
    ".p circle{fill:var(--c);stroke:var(--card);stroke-width:6;stroke-opacity:0;opacity:0}",
    ".dots circle{opacity:1}.p circle:hover{opacity:1;r:5px}",
    ".p circle{pointer-events:all}",
    ".s0,.s8{--c:var(--c0)}.s1,.s9{--c:var(--c1)}.s2,.s10{--c:var(--c2)}.s3,.s11{--c:var(--c3)}",
    ".s4,.s12{--c:var(--c4)}.s5,.s13{--c:var(--c5)}.s6,.s14{--c:var(--c6)}.s7,.s15{--c:var(--c7)}",
    ".line:is(.s8,.s9,.s10,.s11,.s12,.s13,.s14,.s15){stroke-dasharray:6 3}",
    "rect[class^=s]{fill:var(--c)}.rail{fill:var(--rail)}",
    ".t0{--c:var(--c0)}.t1{--c:var(--c1)}.t2{--c:var(--c3)}.t3{--c:var(--c2)}.t4{--c:var(--c7)}",
    ".t5{--c:var(--t5)}rect[class^=t]{fill:var(--c)}",
    ".key{display:inline-block;width:11px;height:11px;border-radius:3px;background:var(--c);",
    "margin-right:7px;flex:none}",
    ".stack{height:28px;border-radius:6px;overflow:hidden}",
    ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 20px;padding:0;margin:10px 0 0;",
    "font-size:14px}.legend b{font-weight:600}.legend span{color:var(--soft)}",
    ".scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);",
    "border-radius:8px}",
    "table{border-collapse:collapse;width:100%;font-size:14px}",
    "th,td{padding:6px 12px;text-align:left;border-bottom:1px solid var(--line);",
    "white-space:nowrap}tbody tr:last-child td{border-bottom:0}",
    "th{color:var(--soft);font-weight:500;font-size:13px}.n{text-align:right}",
    "th[colspan]{text-align:left}.time{white-space:nowrap}",
    "td.name{max-width:340px;overflow:hidden;text-overflow:ellipsis}",
    "td.value{font-family:ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono',monospace;",
    "font-size:13px;max-width:460px;white-space:normal;overflow-wrap:anywhere;min-width:120px}",
    ".bar{width:34%;min-width:110px;padding-left:0}.bar svg{height:8px;border-radius:4px;",
    "overflow:hidden}",
    ".differs td{background:color-mix(in srgb,var(--c0) 8%,transparent)}",
    ".pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,380px),1fr));",
    "gap:20px;align-items:start}",
    ".matrix text{font-size:10.5px}.matrix .right{fill:var(--c0)}.matrix .wrong{fill:var(--c1)}",
    ".matrix g .m{fill:var(--ink)}.matrix g .on{fill:var(--card)}",
    ".pictures{display:grid;gap:12px;grid-template-columns:repeat(auto-fill,minmax(min(100%,230px)"
    ",",
    "1fr))}.pictures figure{margin:0}.pictures img{width:100%;height:auto;display:block;",
    "border-radius:6px;border:1px solid var(--line)}.pictures figcaption{font-size:13px;",
    "color:var(--soft);margin-top:4px}",
    "details{margin-top:10px}summary{cursor:pointer;color:var(--soft);margin-bottom:8px}",
    "footer{font-size:13px;border-top:1px solid var(--line);padding-top:12px}",
    "@media(max-width:600px){main{padding:18px 12px 28px}h1{font-size:20px}",
    ".tiles{grid-template-columns:1fr 1fr}th,td{padding:5px 9px}.bar{min-width:70px}",
    "td.name{max-width:170px}}",
    "@media print{body{background:#fff}.card,.tile,.scroll{break-inside:avoid}}",
    NULL,
};

void page_head_open(struct html *h, const char *program, bool images) {
    html_put(h,
             "<!doctype html>\n<!-- %s -->\n<html lang=en><head><meta charset=utf-8>"
             "<meta name=viewport content=\"width=device-width,initial-scale=1\">"
             "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; %s"
             "style-src 'unsafe-inline'\"><title>",
             program, images ? "img-src data:; " : "");
}

void page_head_style(struct html *h) {
    html_put(h, "</title>\n<style>");
    for (size_t i = 0; PAGE_STYLE[i] != NULL; i++)
        html_put(h, "%s", PAGE_STYLE[i]);
}
