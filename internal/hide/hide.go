// Package hide replaces credentials in what a server sends.
package hide

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// The lengths in bytes of the shortest credential that is replaced in texts for people, and in
// data, and in characters of the shortest part of one: shorter strings would match what is
// unrelated.
const (
	minText, partText   = 6, 8
	minBytes, partBytes = 12, 16
)

// Text returns text without secrets.
func Text(text string, secrets []string) string {
	for _, s := range compile(secrets, minText, partText, false) {
		var out strings.Builder
		b, at := []byte(text), 0
		for start, end, _ := s.find(b, 0, true); start < len(b); start, end, _ = s.find(b, at, true) {
			out.WriteString(text[at:start] + "(hidden)")
			at = end
		}
		if at > 0 {
			text = out.String() + text[at:]
		}
	}
	return text
}

// Bytes overwrites secrets in b, by as many bytes, so that JSON remains JSON. It returns how many
// bytes at the end of b may be the beginning of one, unless this is the last of the data.
func Bytes(b []byte, secrets []string, last bool) (open int) {
	for _, s := range compile(secrets, minBytes, partBytes, true) {
		for at := 0; at < len(b); {
			start, end, more := s.find(b, at, last)
			if more {
				open = max(open, len(b)-start)
				break
			}
			fill(b[start:end])
			at = end
		}
	}
	return open
}

// fill overwrites b as a recording overwrites the data of a Secret. A number stays one.
func fill(b []byte) {
	filler := "REDACTED"
	if len(bytes.Trim(b, "0123456789")) == 0 {
		filler = "1"
	}
	for i := range b {
		b[i] = filler[i%len(filler)]
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
