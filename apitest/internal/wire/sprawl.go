package wire

// A response is indented with at most indentFactor times its bytes, and indentLeast: each value
// within hundreds of objects has hundreds of spaces before it.
const indentFactor, indentLeast = 4, 64 << 10

// sprawls reports whether b, JSON, has too much indentation.
func sprawls(b []byte, folded bool) bool {
	return indentation(b, folded) > indentFactor*len(b)+indentLeast
}

// indentation returns how many bytes of line breaks and spaces b takes at most if each level is
// indented by two spaces, and if, in YAML, long texts are folded at spaces.
func indentation(b []byte, folded bool) (sum int) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
			sum += 1 + 2*depth
		case '}', ']':
			depth--
			sum += 1 + 2*depth
		case ',':
			sum += 1 + 2*depth
		case '"':
			begin := i
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if folded {
				sum += breaks(b[begin:min(i, len(b))], 2*depth+2) * (3 + 2*depth)
			}
		}
	}
	return sum
}

// breaks returns into how many lines more YAML breaks a text at most, if they are indented.
func breaks(text []byte, indent int) int {
	spaces, lines := 0, 0
	for i, c := range text {
		switch {
		case c == ' ':
			spaces++
		case c == 'n' && text[i-1] == '\\':
			lines++
		}
	}
	return lines + min(spaces, len(text)/max(1, 80-indent))
}
