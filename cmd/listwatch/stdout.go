package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/listwatch/listwatch/internal/printable"
)

// spot is where the output stands after a record.
type spot struct {
	end int   // in bytes; in rows where an encoder keeps those until flush
	seq int64 // the printer's number
}

// rowed is an encoder that keeps rows until flush.
type rowed interface {
	kept() int          // rows
	size() int          // bytes of their cells
	after(rows int) int // where so many of the rows that were flushed last end
}

func (t *table) kept() int          { return len(t.rows) }
func (t *table) size() int          { return t.held }
func (t *table) after(rows int) int { return t.ends[rows] }

// locate notes where the output stands.
func (p *printer) locate() {
	s := spot{len(p.buf), p.seq}
	if t, ok := p.enc.(rowed); ok {
		s.end = t.kept()
	}
	p.spots = append(p.spots, s)
}

// took notes in the checkpoint what stdout has taken in whole, though it took no more
// than n bytes. Where there are hooks, which get nothing of it, or somebody acknowledges,
// all of it comes again.
func (p *printer) took(n int) error {
	if p.keeper == nil || p.hooks != nil || p.keeper.acks != nil {
		return nil
	}
	whole := 0
	for _, s := range p.spots {
		end := s.end
		if t, ok := p.enc.(rowed); ok {
			end = t.after(end)
		}
		if end > n {
			break
		}
		whole++
	}
	return p.keeper.took(p.unsettled[:whole])
}

// unwritten is how the program ends that cannot write to stdout. kept is that there is
// a checkpoint, and unnoted why it does not have what stdout took of the last write.
func unwritten(err error, kept bool, unnoted error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return errPipe
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // its name says no more
	}
	todo := roomFor(err, "the output")
	switch {
	case todo == "" || !kept:
	case unnoted != nil:
		todo += fmt.Sprintf("; the next run may print some lines again: %v", unnoted)
	default:
		todo += "; the next run prints again what is not there in whole"
	}
	return failed(fmt.Errorf("write to stdout: %w%s", err, todo))
}

// put writes text to stdout, escaped if that is a terminal.
func (p *program) put(text string) error {
	if isTerminal(p.stdout) {
		text = string(printable.Escape(nil, []byte(text)))
	}
	if _, err := io.WriteString(p.stdout, text); err != nil {
		return unwritten(err, false, nil)
	}
	return nil
}

// roomFor says what to do where err is that something had no room; else nothing.
func roomFor(err error, what string) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ": make room where " + what + " goes"
	case errors.Is(err, syscall.EFBIG):
		return ": allow a larger file by ulimit -f"
	}
	return ""
}
