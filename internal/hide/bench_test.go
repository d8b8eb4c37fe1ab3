package hide

import (
	"bytes"
	"strings"
	"testing"
)

// BenchmarkBytes in what a server sends, which is all but free of credentials.
func BenchmarkBytes(b *testing.B) {
	data := bytes.Repeat([]byte(`{"apiVersion":"v1","metadata":{"labels":{"app":"web"},"annotations":{"a":"{\"b\":[\"c\"]}"}},"spec":{}}`), 1000)
	secrets := []string{strings.Repeat("eyJhbGciOiJSUzI1NiIsImtpZCI6InF3ZXJ0eSJ9", 20), "eyJhbGciOiJSUzI1NiIsImtpZCI6InF3ZXJ0eSJ9.eyJhdWQiOlsi", "correct&horse<battery>staple"}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Bytes(data, secrets, true)
	}
}

// BenchmarkEvent of 3 KB, as a recording has it.
func BenchmarkEvent(b *testing.B) {
	data := bytes.Repeat([]byte(`{"apiVersion":"v1","metadata":{"labels":{"app":"web"},"annotations":{"a":"b"}},"spec":{}}`), 30)
	secrets := []string{strings.Repeat("eyJhbGciOiJSUzI1NiIsImtpZCI6InF3ZXJ0eSJ9", 20), "correct&horse<battery>staple"}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Bytes(data, secrets, true)
	}
}
