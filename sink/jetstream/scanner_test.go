package jetstream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
)

// pieces is a connection whose reads return what the reader does.
type pieces struct {
	net.Conn
	io.Reader
	closed bool
}

func (p *pieces) Read(b []byte) (int, error)  { return p.Reader.Read(b) }
func (p *pieces) Write(b []byte) (int, error) { return len(b), nil }
func (p *pieces) Close() error                { p.closed = true; return nil }

func TestScanner(t *testing.T) {
	for _, tt := range []struct {
		name, stream, refused string
	}{
		{name: "all lines", stream: "INFO {\"a\":1}\r\n+OK\r\nPING\r\nPONG\r\n-ERR 'Stale Connection'\r\n"},
		{name: "messages", stream: "MSG s 1 3\r\nabc\r\nhmsg s 1 r 12 15\r\nNATS/1.0\r\n\r\nabc\r\nmsg s 1 0\r\n\r\nPING\r\n"},
		{name: "a message that reads as a line", stream: "MSG s 1 16\r\nMSG x 1 99999999\r\n\r\nPING\r\n"},
		{name: "the largest line", stream: "INFO " + strings.Repeat("x", maxLine-6) + "\r\n"},
		{name: "the largest message", stream: "MSG s 1 67108864\r\n"},
		{name: "a line without an end", stream: "INFO " + strings.Repeat("x", maxLine), refused: "more than 1048576 bytes"},
		{name: "a large message", stream: "MSG s 1 67108865\r\n", refused: "of 67108865 bytes: the limit is 67108864"},
		{name: "a large message with headers", stream: "Hmsg\ts 1 12 1100000000\r\n", refused: "of 1100000000 bytes"},
		{name: "a size that overflows", stream: "MSG s 1 18446744073709551621\r\n", refused: "valid size"},
		{name: "a negative size", stream: "MSG s 1 -1\r\n", refused: "valid size"},
		{name: "no size", stream: "MSG\r\n", refused: "valid size"},
		// With these, the parser of package nats would end the line or the message elsewhere.
		{name: "a CR within", stream: "MSG s 1 1100000000 \r5\r\n", refused: "CR LF"},
		{name: "no CR", stream: "INFO \nMSG s 1 9\r\n", refused: "CR LF"},
		{name: "more after a message", stream: "MSG s 1 1\r\naMSG s 1 9\r\n", refused: "CR LF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{"whole": strings.NewReader(tt.stream), "bytes": iotest.OneByteReader(strings.NewReader(tt.stream))} {
				p := &pieces{Reader: r}
				c := &limited{Conn: p}
				got, err := io.ReadAll(c)
				if tt.refused == "" {
					if err != nil || string(got) != tt.stream {
						t.Errorf("%s: %d of %d bytes, %v", name, len(got), len(tt.stream), err)
					}
					continue
				}
				if _, again := c.Read(make([]byte, 1)); !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), tt.refused) || again != err || !p.closed {
					t.Errorf("%s: %v, then %v, closed: %v; want %s", name, err, again, p.closed, tt.refused)
				}
			}
		})
	}
}

// TestScannerStopsAtTLS: what is read from then on are records of TLS.
func TestScannerStopsAtTLS(t *testing.T) {
	for _, tt := range []struct {
		writes []string
		passes bool
	}{
		{[]string{"\x16\x03\x01"}, true},
		{[]string{"CONNECT {}\r\n", "\x16\x03\x01"}, false},
		{nil, false},
	} {
		const stream = "\x16\x03\x03\nMSG s 1 1100000000\r\n"
		c := &limited{Conn: &pieces{Reader: strings.NewReader(stream)}}
		for _, w := range tt.writes {
			if _, err := c.Write([]byte(w)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := io.ReadAll(c); (err == nil && string(got) == stream) != tt.passes {
			t.Errorf("after %q: %q, %v", tt.writes, got, err)
		}
	}
}

// FuzzScanner: any split of a stream into reads gives the same bytes and the same error; and where
// a stream ends, what is kept is limited.
func FuzzScanner(f *testing.F) {
	f.Add([]byte("INFO {}\r\nMSG s 1 3\r\nabc\r\nHMSG s 1 12 15\r\nNATS/1.0\r\n\r\nabc\r\nPING\r\n"), uint8(3))
	f.Add([]byte("MSG s 1 67108865\r\n"), uint8(1))
	f.Add([]byte("MSG s 1 1\r\naMSG s 1 9\r\n"), uint8(7))
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		var whole, split scanner
		want := whole.follow(stream)
		var err error
		for rest := stream; len(rest) > 0 && err == nil; {
			n := min(int(step)%16+1, len(rest))
			err, rest = split.follow(rest[:n]), rest[n:]
		}
		if (err == nil) != (want == nil) || err != nil && err.Error() != want.Error() {
			t.Errorf("whole: %v, in pieces: %v", want, err)
		}
		if want == nil && (!bytes.Equal(whole.line, split.line) || whole.payload != split.payload || whole.ending != split.ending) {
			t.Errorf("whole: %+v, in pieces: %+v", whole, split)
		}
		if split.payload > maxPayload || len(split.line) > maxLine {
			t.Errorf("%d bytes are to come, the line has %d", split.payload, len(split.line))
		}
	})
}
