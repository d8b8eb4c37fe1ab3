// Package hide replaces credentials in what a server sends.
package hide

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// Shorter strings would match what is unrelated: in texts for people less is lost by that.
var (
	inText = &rules{whole: 6, part: 8}
	inData = &rules{whole: 12, part: 16, json: true}
)

// Text returns text without secrets.
func Text(text string, secrets []string) string {
	found, _ := inText.find([]byte(text), secrets, true)
	if len(found) == 0 {
		return text
	}
	var out strings.Builder
	at := 0
	for _, s := range found {
		out.WriteString(text[at:s.start] + "(hidden)")
		at = s.end
	}
	return out.String() + text[at:]
}

// piece is how much data is looked at at once, unless a secret is larger.
const piece = 32 << 10

// Bytes overwrites secrets in b, by as many bytes, so that JSON remains JSON. It returns how many
// bytes at the end of b may be the beginning of one, unless this is the last of the data.
func Bytes(b []byte, secrets []string, last bool) (open int) {
	for size := piece; ; {
		n := min(size, len(b))
		end := n == len(b)
		found, decided := inData.find(b[:n], secrets, last && end)
		for _, s := range found {
			fill(b[s.start:s.end])
		}
		if end {
			return n - decided
		}
		if size = piece; decided == 0 {
			size = 2 * n
		}
		b = b[decided:]
	}
}

// fill overwrites b as a recording overwrites the data of a Secret. What may be a number of JSON
// stays one.
func fill(b []byte) {
	number, filler := len(bytes.Trim(b, "0123456789+-.eE,")) == 0, byte('1')
	for i, c := range b {
		switch {
		case !number:
			b[i] = "REDACTED"[i%8]
		case '0' <= c && c <= '9':
			b[i] = filler
		case c == 'e' || c == 'E':
			filler = '0' // of an exponent
		case c == ',':
			filler = '1'
		}
	}
}

// Response hides secrets, which are asked for as resp is read, in its headers, and in the body of
// an error. Another body is the data of the user, who may write it back.
func Response(resp *http.Response, secrets func() []string) {
	now := secrets()
	for _, values := range resp.Header {
		for i, v := range values {
			b := []byte(v)
			Bytes(b, now, true)
			values[i] = string(b)
		}
	}
	if resp.StatusCode >= 400 {
		resp.Body = &body{ReadCloser: resp.Body, secrets: secrets}
	}
}

// body is a body without secrets.
type body struct {
	io.ReadCloser
	secrets func() []string
	buf     []byte
	open    int // bytes at the end of buf that may begin a secret
	err     error
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	for len(p) > 0 && b.err == nil && len(b.buf) == b.open {
		buf := make([]byte, 32<<10)
		var n int
		n, b.err = b.ReadCloser.Read(buf)
		b.buf = append(b.buf, buf[:n]...)
		b.open = Bytes(b.buf, b.secrets(), b.err != nil)
	}
	n := copy(p, b.buf[:len(b.buf)-b.open])
	if b.buf = b.buf[n:]; len(b.buf) == 0 {
		return n, b.err
	}
	return n, nil
}
