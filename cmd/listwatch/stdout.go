package main

import "github.com/listwatch/listwatch/internal/print"

// spot is where the output stands after a record.
type spot struct {
	end int   // in bytes; in rows where an encoder keeps those until flush
	seq int64 // the printer's number
}

// locate notes where the output stands.
func (p *printer) locate() {
	s := spot{len(p.buf), p.seq}
	if t, ok := p.enc.(print.Rowed); ok {
		s.end = t.Kept()
	}
	p.spots = append(p.spots, s)
}

// took notes in the checkpoint what stdout has taken in whole, though it took no more
// than n bytes. Where there are hooks, which get nothing of it, or somebody acknowledges,
// all of it is printed again.
func (p *printer) took(n int) error {
	if p.keeper == nil || p.output.hooks != nil || p.keeper.acks != nil {
		return nil
	}
	whole := 0
	for _, s := range p.spots {
		end := s.end
		if t, ok := p.enc.(print.Rowed); ok {
			end = t.After(end)
		}
		if end > n {
			break
		}
		whole++
	}
	return p.keeper.took(p.unsettled[:whole])
}
