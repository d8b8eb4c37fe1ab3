// Package hide replaces credentials in what a server sends.
package hide

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// minText and minBytes are the lengths in bytes of the shortest credential that is replaced in
// texts for people, and in data: shorter strings would match what is unrelated.
const (
	minText  = 6
	minBytes = 12
)

// Text returns text without secrets.
func Text(text string, secrets []string) string {
	for _, s := range forms(secrets, minText) {
		text = strings.ReplaceAll(text, s, "(hidden)")
	}
	return text
}

// Bytes overwrites secrets in b, by as many bytes. It returns how many bytes at the end of b may
// be the beginning of one.
func Bytes(b []byte, secrets []string) (open int) {
	for _, s := range forms(secrets, minBytes) {
		at := 0
		for i := bytes.Index(b, []byte(s)); i >= 0; i = bytes.Index(b[at:], []byte(s)) {
			fill(b[at+i:][:len(s)])
			at += i + len(s)
		}
		for n := min(len(s)-1, len(b)-at); n > open; n-- {
			if string(b[len(b)-n:]) == s[:n] {
				open = n
			}
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

// forms returns secrets of at least n bytes as texts, URLs and quotes have them.
func forms(secrets []string, n int) (all []string) {
	for _, s := range secrets {
		if len(s) < n {
			continue
		}
		all = append(all, s)
		if escaped := url.QueryEscape(s); escaped != s {
			all = append(all, escaped)
		}
		if quoted := strconv.Quote(s); len(quoted) != len(s)+2 {
			all = append(all, quoted[1:len(quoted)-1])
		}
	}
	return all
}

// Response hides secrets, which are asked for as resp is read, in its headers, and in the body of
// an error. Another body is the data of the user, who may write it back.
func Response(resp *http.Response, secrets func() []string) {
	now := secrets()
	for _, values := range resp.Header {
		for i, v := range values {
			b := []byte(v)
			Bytes(b, now)
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
		b.open = Bytes(b.buf, b.secrets())
	}
	if b.err != nil {
		b.open = 0 // nothing follows
	}
	n := copy(p, b.buf[:len(b.buf)-b.open])
	if b.buf = b.buf[n:]; len(b.buf) == 0 {
		return n, b.err
	}
	return n, nil
}
