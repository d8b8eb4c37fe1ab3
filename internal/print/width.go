package print

import "unicode"

// DisplayWidth is how many columns a terminal takes for s, which is printable.
func DisplayWidth(s string) int {
	n := 0
	for _, r := range s {
		n += RuneWidth(r)
	}
	return n
}

func RuneWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.In(r, wide):
		return 2
	}
	return 1
}

// wide holds what East Asian Width calls wide or fullwidth, in blocks, and the
// emoji. See https://www.unicode.org/reports/tr11/.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x23e9, 0x23ec, 1}, {0x25fd, 0x25fe, 1}, {0x2614, 0x2615, 1},
		{0x26a1, 0x26a1, 1}, {0x2705, 0x2705, 1}, {0x274c, 0x274c, 1}, {0x2753, 0x2757, 1}, {0x2e80, 0x303e, 1},
		{0x3041, 0xa4cf, 1}, {0xa960, 0xa97f, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1},
		{0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x18aff, 1}, {0x1b000, 0x1b2ff, 1}, {0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1},
		{0x1f7e0, 0x1f7eb, 1}, {0x1f900, 0x1faff, 1}, {0x20000, 0x3fffd, 1},
	},
}
