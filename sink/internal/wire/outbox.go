package wire

import (
	"fmt"

	"github.com/listwatch/listwatch/sink"
)

// MostUnsent limits the records that a companion returns at a time.
const MostUnsent = 500

// Astray returns why the mark of a scope does not move, although its possessor is the one who
// moves it: held is the receiver that the companion has.
func Astray(p sink.Position, held, receiver string) error {
	if held == receiver {
		return fmt.Errorf("%s: the mark of what was sent does not move backwards", p.Scope)
	}
	return fmt.Errorf("%s: the companion does not have the receiver any more", p.Scope)
}

// Readdress returns a position of which another receiver gets the state of each object, in
// another epoch.
func Readdress(p sink.Position) sink.Position {
	if p.Sequence == 0 {
		return p // nothing was committed
	}
	if p.Epoch++; p.Phase == sink.Live || p.Cause == "" { // which the first list has not
		p.Phase, p.Cause = sink.Loading, sink.CauseReceiver
	}
	return p
}
