package backlog

import "io"

// Place is that of a response, or of a large event, among those that are being sent.
type Place interface {
	Moved() // it begins, or the client has read another Piece
}

// Send writes b, and tells p, unless it is nil, how far the client has read.
func Send(w io.Writer, b []byte, p Place) (done int, err error) {
	if p == nil {
		return w.Write(b)
	}
	p.Moved()
	for len(b)-done > Piece {
		n, err := w.Write(b[done : done+Piece])
		if done += n; err != nil {
			return done, err
		}
		p.Moved()
	}
	n, err := w.Write(b[done:])
	return done + n, err
}
