package page

import (
	"html/template"
)

// Icons are drawn on a square of 24 by lines of the text's color.
var Icons = map[string]template.HTML{
	"home":     `<path d="M4 11l8-7 8 7v9h-6v-6h-4v6H4z"/>`,
	"people":   `<circle cx="9" cy="8" r="3.5"/><path d="M3 20c0-4 2.5-6 6-6s6 2 6 6M15.5 5a3.5 3.5 0 0 1 0 6.5M17.5 14.3c2.2.7 3.5 2.6 3.5 5.7"/>`,
	"gift":     `<rect x="4" y="11" width="16" height="9" rx="1"/><path d="M3 7h18v4H3zM12 7v13M12 7c-5 0-6-4-3.500-4S12 7 12 7c0 0 1-4 3.500-4S17 7 12 7z"/>`,
	"flag":     `<path d="M6 21V4M6 5h11l-2 3.5L17 12H6"/>`,
	"chart":    `<path d="M5 20v-7m7 7V5m7 15V10"/>`,
	"tree":     `<rect x="9" y="3" width="6" height="5" rx="1"/><rect x="3" y="16" width="6" height="5" rx="1"/><rect x="15" y="16" width="6" height="5" rx="1"/><path d="M12 8v4M6 16v-4h12v4"/>`,
	"settings": `<path d="M4 7h10M18 7h2M4 17h2M10 17h10"/><circle cx="16" cy="7" r="2"/><circle cx="8" cy="17" r="2"/>`,
	"book":     `<path d="M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3z"/><path d="M5 17a3 3 0 0 1 3-3h11"/>`,
	"key":      `<circle cx="8" cy="15" r="4"/><path d="M11 12l8-8M16 7l3 3"/>`,
	"search":   `<circle cx="11" cy="11" r="6"/><path d="M15.5 15.5L21 21"/>`,
	"plus":     `<path d="M12 5v14M5 12h14"/>`,
	"check":    `<path d="M5 12.5l4.5 4.5L19 7.5"/>`,
	"warning":  `<path d="M12 4l9 16H3z"/><path d="M12 10v4M12 17.2v.1"/>`,
	"archive":  `<rect x="3" y="4" width="18" height="5" rx="1"/><path d="M5 9v11h14V9M10 13h4"/>`,
	"menu":     `<path d="M4 7h16M4 12h16M4 17h16"/>`,
	"switch":   `<path d="M8 10l4-4 4 4M8 14l4 4 4-4"/>`,
	"person":   `<circle cx="12" cy="8" r="4"/><path d="M4 21c0-4.5 3.5-7 8-7s8 2.5 8 7"/>`,
	"edit":     `<path d="M4 20l1-5L16 4l4 4L9 19z"/>`,
	"mail":     `<rect x="3" y="5" width="18" height="14" rx="2"/><path d="M3 7l9 6 9-6"/>`,
	"phone":    `<path d="M5 4h4l2 5-2.5 1.5a11 11 0 0 0 5 5L15 13l5 2v4a1 1 0 0 1-1 1C10.7 20 4 13.300 4 5a1 1 0 0 1 1-1z"/>`,
	"pin":      `<path d="M12 21s7-6.500 7-11.500a7 7 0 0 0-14 0C5 14.500 12 21 12 21z"/><circle cx="12" cy="9.500" r="2.500"/>`,
	"tag":      `<path d="M4 4h8l8 8-8 8-8-8z"/><circle cx="8.500" cy="8.500" r="1.200"/>`,
	"link":     `<path d="M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1"/>`,
	"keys":     `<rect x="3" y="6" width="18" height="12" rx="2"/><path d="M7 10h.1M12 10h.1M17 10h.1M8 14h8"/>`,
	"note":     `<path d="M6 3h9l4 4v14H6zM15 3v4h4M9 12h7M9 16h5"/>`,
	"clock":    `<circle cx="12" cy="12" r="8.500"/><path d="M12 7.500V12l3 2"/>`,
	"close":    `<path d="M6 6l12 12M18 6L6 18"/>`,
	"filter":   `<path d="M4 6h16M7 12h10M10 18h4"/>`,
	"down":     `<path d="M6 9.500l6 6 6-6"/>`,
	"next":     `<path d="M9.500 6l6 6-6 6"/>`,
	"repeat":   `<path d="M4 11a5 5 0 0 1 5-5h10M16 3l3 3-3 3M20 13a5 5 0 0 1-5 5H5M8 21l-3-3 3-3"/>`,
	"heart":    `<path d="M12 20s-8-5-8-10.500A4.400 4.400 0 0 1 12 7a4.400 4.400 0 0 1 8 2.500C20 15 12 20 12 20z"/>`,
	"share":    `<circle cx="6" cy="12" r="2.500"/><circle cx="17" cy="6" r="2.500"/><circle cx="17" cy="18" r="2.500"/><path d="M8.200 10.800l6.600-3.600M8.200 13.200l6.600 3.600"/>`,
	"undo":     `<path d="M8 5L4 9l4 4M4 9h10a5.500 5.500 0 0 1 0 11h-3"/>`,
	"out":      `<path d="M10 4H5v16h5M14 8l4 4-4 4M18 12H9"/>`,
	"card":     `<rect x="3" y="5.500" width="18" height="13" rx="2"/><path d="M3 10h18M7 15h3"/>`,
	"whatsapp": `<path d="M4 20l1.300-4.200A8.200 8.200 0 1 1 8.400 18.800z"/><path d="M9 8.300c-.3 3.800 3 7 6.700 6.700l.5-2.100-2.300-1-.9 1a4.600 4.600 0 0 1-1.900-1.900l1-.9-1-2.300z"/>`,
	"facebook": `<path d="M14 20.500V13h2.800l.5-3.300H14V7.800c0-1.100.6-1.800 1.900-1.800h1.500V3.200C16.800 3.100 16 3 15.200 3c-2.600 0-4.200 1.500-4.200 4.200v2.500H8.200V13H11v7.500z"/>`,
	"x":        `<path d="M4.500 4h3.600l11.400 16h-3.600zM18.800 4l-6 6.800M10.900 13.400L5.200 20"/>`,
	"bluesky":  `<path d="M12 11C10.700 8.300 7.400 5 5 4.600c-1.200-.2-1.300 1-1.100 3.200.2 2.600.9 4 4 3.900-2.900.6-3.200 2.400-1.500 4.500 2 2.400 4.200 1.400 5.600-2.400 1.400 3.800 3.600 4.800 5.600 2.400 1.700-2.100 1.400-3.900-1.500-4.500 3.100.1 3.800-1.300 4-3.900.2-2.200.1-3.400-1.100-3.200C16.600 5 13.300 8.300 12 11z"/>`,
	"linkedin": `<path d="M5.500 10v9.500M5.500 5.500v.1M11 19.500V10M11 14.500c0-2.700 1.500-4.500 4-4.500s4 1.600 4 4.500v5"/>`,
	"many":     `<path d="M12 4l9 4.500-9 4.500-9-4.500zM3 12.500l9 4.500 9-4.500M3 16.500l9 4.500 9-4.500"/>`,
}

// icon is an image beside words that say the same, so screen readers skip it.
func icon(name string) template.HTML {
	return `<svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false">` + Icons[name] + `</svg>`
}
