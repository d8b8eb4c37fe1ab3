package lease_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// TestRingOfAnEditedTable: slots that an edit by hand frees still have the owners that have not
// seen it yet.
func TestRingOfAnEditedTable(t *testing.T) {
	for name, keep := range map[string]bool{"all slots": false, "all slots after a write that nobody has read": false, "the slots of one": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCircle(t)
				for name, linger := range map[string]time.Duration{"a": 0, "b": 2 * time.Second, "c": 4 * time.Second} {
					c.join(name, linger, true)
				}
				pass(time.Minute)
				c.balanced(3)
				for range 10 {
					c.edit(keep, name == "all slots after a write that nobody has read")
					pass(time.Minute)
					c.balanced(3)
				}
			})
		})
	}
}

// edit erases the table by hand, or all of it but its first run of slots, perhaps after a member
// has written it.
func (c *circle) edit(keep, written bool) {
	c.t.Helper()
	synctest.Wait()
	var o map[string]any
	if err := json.Unmarshal(c.srv.Get(kube.Leases, orders), &o); err != nil {
		c.t.Fatal(err)
	}
	annotations := o["metadata"].(map[string]any)["annotations"].(map[string]any)
	before, _ := annotations["listwatch.dev/slots"].(string)
	first, _, _ := strings.Cut(before, ",")
	annotations["listwatch.dev/slots"] = ""
	if keep {
		annotations["listwatch.dev/slots"] = first
	}
	if spec := o["spec"].(map[string]any); written {
		spec["leaseTransitions"] = spec["leaseTransitions"].(float64) + 1
	}
	b, err := json.Marshal(o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.srv.Put(kube.Leases, string(b))
}
