package lease_test

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRingMemberThatJoinsAfterADeath: the slots of a dead member are taken when those who have
// seen it may take them, also the part of a member that has joined since.
func TestRingMemberThatJoinsAfterADeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		c.join("a", 0, true)
		c.join("b", 0, true)
		d := c.join("d", 0, true)
		pass(time.Minute)
		c.balanced(3)
		d.kill()
		pass(13 * time.Second)
		c.join("e", 0, true)
		pass(8 * time.Second)
		c.balanced(3)
	})
}
