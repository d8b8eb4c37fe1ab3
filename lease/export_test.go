package lease

import "time"

// SetClock replaces the clock of the times that e writes.
func (e *Elector) SetClock(now func() time.Time) { e.clock = now }

// SetDice replaces chance by a function that returns numbers from 0 to 1.
func (e *Elector) SetDice(f func() float64) { e.dice = f }
