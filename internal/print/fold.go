package print

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// foldWidth is the column after which kubectl's YAML breaks a line at a space.
const foldWidth = 80

// fold breaks the long lines of a block style document of ours as kubectl's
// encoder does; that of ours has no setting for it. What the document means
// stays the same.
func fold(doc []byte) []byte {
	out := make([]byte, 0, len(doc))
	literal := -1 // the column of the parent of the literal block that we are in
	for line := range bytes.Lines(doc) {
		text := strings.TrimSuffix(string(line), "\n")
		body := strings.TrimLeft(text, " ")
		column := len(text) - len(body)
		if literal >= 0 && (body == "" || column > literal) {
			out = append(out, line...)
			continue
		}
		literal = -1
		parent := column
		for len(body) > 1 && body[1] == ' ' && strings.IndexByte("-?:", body[0]) >= 0 { // ? is before a key of more than 128 bytes
			parent, column, body = column, column+2, body[2:]
		}
		value, inMap := body[keyLength(body):], keyLength(body) > 0
		if inMap {
			parent = column
		}
		switch {
		case isLiteral(value):
			literal = parent
		case len(text) > foldWidth && !strings.ContainsAny(value, "\u0085\u2028\u2029"):
			head := text[:len(text)-len(value)]
			out = append(out, head...)
			out = appendFolded(out, value, utf8.RuneCountInString(head), parent+2)
			out = append(out, '\n')
			continue
		}
		out = append(out, line...)
	}
	return out
}

// keyLength is how much of a line is a key, with the colon and space behind it;
// 0 where it is only a value.
func keyLength(s string) int {
	end := 0 // of a quoted key
	switch {
	case s == "":
		return 0
	case s[0] == '"':
		for end = 1; end < len(s) && s[end] != '"'; end++ {
			if s[end] == '\\' {
				end++
			}
		}
		end++
	case s[0] == '\'':
		for end = 1; end < len(s) && (s[end] != '\'' || strings.HasPrefix(s[end:], "''")); end++ {
			if s[end] == '\'' {
				end++
			}
		}
		end++
	default:
		i := strings.Index(s, ": ")
		if i < 0 {
			return 0
		}
		return i + 2
	}
	if end < len(s) && strings.HasPrefix(s[end:], ": ") {
		return end + 2
	}
	return 0
}

// isLiteral reports whether a literal block follows.
func isLiteral(value string) bool {
	return value != "" && (value[0] == '|' || value[0] == '>') && strings.Trim(value[1:], "+-0123456789") == ""
}

// appendFolded appends a scalar that begins at column; further lines begin at
// indent. The rules differ by how it is quoted.
func appendFolded(out []byte, s string, column, indent int) []byte {
	double := s[0] == '"'
	quoted := double || s[0] == '\''
	after := false // a space
	for i, r := range s {
		first, last := i == 0, i == len(s)-1
		if quoted {
			first, last = i <= 1, i >= len(s)-2
		}
		spaceNext := !last && s[i+1] == ' '
		if r == ' ' && !after && column > foldWidth && !first && !last && (double || !spaceNext) {
			out = append(out, '\n')
			out = append(out, strings.Repeat(" ", indent)...)
			column = indent
			if spaceNext {
				out = append(out, '\\')
				column++
			}
		} else {
			out = utf8.AppendRune(out, r)
			column++
		}
		after = r == ' '
	}
	return out
}
