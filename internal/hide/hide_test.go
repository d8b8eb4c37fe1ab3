package hide

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const secret = `planted"token+of a test`

// TestBytesKeepTheirNumber: a credential is overwritten in each of its forms, a number by a number,
// and what is too short not at all.
func TestBytesKeepTheirNumber(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		open       int
	}{
		{"a " + secret + " b " + secret, "a REDACTEDREDACTEDREDACTE b REDACTEDREDACTEDREDACTE", 0},
		{`planted\"token+of a test.`, "REDACTEDREDACTEDREDACTED.", 0},
		{"planted%22token%2Bof+a+test.", "REDACTEDREDACTEDREDACTEDRED.", 0},
		{"123456789012 12345678901", "111111111111 12345678901", 11},
		{"short", "short", 0}, {"x planted", "x planted", 7}, {"", "", 0},
	} {
		b := []byte(tt.text)
		if open := Bytes(b, []string{secret, "123456789012", "short", ""}); string(b) != tt.want || open != tt.open {
			t.Errorf("%q: %q, open %d, want %q, open %d", tt.text, b, open, tt.want, tt.open)
		}
	}
}

// TestBodyHidesWhatIsSplit: a credential may arrive in pieces, and the body ends as it did.
func TestBodyHidesWhatIsSplit(t *testing.T) {
	text := strings.Repeat(secret+" and plan ", 5) + "plant"
	want := []byte(text)
	Bytes(want, []string{secret})
	for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
		b := &body{ReadCloser: io.NopCloser(r), secrets: func() []string { return []string{secret} }}
		if err := iotest.TestReader(b, want); err != nil {
			t.Error(err)
		}
	}
	broken := &body{ReadCloser: io.NopCloser(io.MultiReader(strings.NewReader("plan"), iotest.ErrReader(io.ErrUnexpectedEOF))), secrets: func() []string { return nil }}
	if b, err := io.ReadAll(broken); err != io.ErrUnexpectedEOF || !bytes.Equal(b, []byte("plan")) {
		t.Errorf("%q %v", b, err)
	}
}
