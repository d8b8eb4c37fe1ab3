// Package hide replaces credentials in what a server sends.
package hide

import (
	"bytes"
	"io"
	"net/http"
	"slices"
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
		resp.Body = &body{ReadCloser: resp.Body, stream: Stream{Hide: func(b []byte, last bool) int { return Bytes(b, secrets(), last) }}}
	}
}

// body is a body without secrets.
type body struct {
	io.ReadCloser
	stream Stream
	buf    []byte
	ready  []byte // of what was read
	err    error
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.buf == nil {
		b.buf = make([]byte, 32<<10)
	}
	for len(p) > 0 && b.err == nil && len(b.ready) == 0 {
		var n int
		n, b.err = b.ReadCloser.Read(b.buf)
		b.ready = b.stream.Feed(b.buf[:n], b.err != nil)
	}
	n := copy(p, b.ready)
	if b.ready = b.ready[n:]; len(b.ready) == 0 {
		return n, b.err
	}
	return n, nil
}

// Stream hides secrets in data that comes in pieces, also those that are in several of them.
type Stream struct {
	Hide func(b []byte, last bool) (open int) // as Bytes does

	buf  []byte
	open int // bytes at the end of buf that Hide left open
}

// Feed takes the next piece, and returns what is ready, valid until the next call. What is open is
// looked at again once a sixteenth of it came in addition, so that small pieces cost no more.
func (s *Stream) Feed(b []byte, last bool) []byte {
	s.buf = append(s.buf, b...)
	if !last && len(s.buf)-s.open <= s.open/16 {
		return nil
	}
	s.open = s.Hide(s.buf, last)
	n := len(s.buf) - s.open
	ready := s.buf[:n]
	s.buf = slices.Clone(s.buf[n:])
	return ready
}
