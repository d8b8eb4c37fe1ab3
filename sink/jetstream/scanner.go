package jetstream

import (
	"bytes"
	"fmt"
	"strconv"
)

// The largest control line, such as INFO, and message that a server may send, in bytes.
const (
	maxLine    = 1 << 20
	maxPayload = 64 << 20
)

// scanner follows what a server sends: control lines, and messages after the lines MSG and HMSG.
// It is stricter than the parser of package nats, which must not find a MSG that the scanner
// takes for a part of a message: each line and each message ends with CR LF, and a line has no
// other CR.
type scanner struct {
	line    []byte // the beginning of a line
	payload uint64 // bytes of a message that are to come
	ending  bool   // the CR LF of a message is to come
}

// follow takes the next bytes. The error is an ErrProtocol, after which follow must not be called.
func (s *scanner) follow(b []byte) error {
	for len(b) > 0 {
		if s.payload > 0 {
			n := min(s.payload, uint64(len(b)))
			s.payload, b = s.payload-n, b[n:]
			continue
		}
		part, rest, ends := bytes.Cut(b, []byte("\n"))
		if len(s.line)+len(part) > maxLine {
			return fmt.Errorf("%w: a line from the server has more than %d bytes", ErrProtocol, maxLine)
		}
		s.line = append(s.line, part...)
		if !ends {
			return nil
		}
		if err := s.end(); err != nil {
			return err
		}
		s.line, b = s.line[:0], rest
	}
	return nil
}

// end takes a whole line, without its LF.
func (s *scanner) end() error {
	line, ok := bytes.CutSuffix(s.line, []byte("\r"))
	if !ok || bytes.ContainsRune(line, '\r') || s.ending && len(line) > 0 {
		return fmt.Errorf("%w: a line or a message from the server does not end with CR LF", ErrProtocol)
	}
	s.ending = false
	words := bytes.Fields(line)
	if len(words) == 0 || !bytes.EqualFold(words[0], []byte("MSG")) && !bytes.EqualFold(words[0], []byte("HMSG")) {
		return nil
	}
	n, err := strconv.ParseUint(string(words[len(words)-1]), 10, 63)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the server announces a message without a valid size", ErrProtocol)
	case n > maxPayload:
		return fmt.Errorf("%w: the server announces a message of %d bytes: the limit is %d", ErrProtocol, n, maxPayload)
	}
	s.payload, s.ending = n, true
	return nil
}
