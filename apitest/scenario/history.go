package scenario

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
)

// histories returns the scenarios about revisions that the server no longer has, or not
// yet.
func histories() []Scenario { return append(expirations(), restores()...) }

// expirations returns the scenarios about revisions that are too old.
func expirations() []Scenario {
	expire := func(shape apitest.Gone) step {
		return strike("the history expires", func(s *stage) {
			s.srv.SetGone(shape)
			s.srv.Expire()
		})
	}
	const again = "Lists again, or streams the collection, within 20 s, and watches from that revision."
	return []Scenario{
		{
			Name: "gone/in-stream", Layer: "semantics", Limit: 45 * time.Second,
			Summary: "The history expires; the running watch ends with an ERROR event of code 410.",
			Correct: again,
			steps:   []step{follows(30 * time.Second), put("a"), expire(apitest.GoneEvent), relists(20 * time.Second), proof()},
		},
		{
			Name: "gone/on-resume", Layer: "semantics", Limit: 45 * time.Second,
			Summary: "The watch ends without a word, and the next gets 200 and an ERROR event of code 410.",
			Correct: again,
			steps:   []step{follows(30 * time.Second), put("a"), expire(apitest.GoneSilent), relists(20 * time.Second), proof()},
		},
		{
			Name: "gone/as-status", Layer: "semantics", Limit: 45 * time.Second,
			Summary: "The watch ends without a word, and the next is answered with HTTP 410.",
			Correct: again,
			steps:   []step{follows(30 * time.Second), put("a"), expire(apitest.GoneStatus), relists(20 * time.Second), proof()},
		},
		{
			Name: "gone/again-and-again", Layer: "semantics", Limit: 100 * time.Second,
			Summary: "For 15 s each watch that has sent the collection, or that resumes, ends with 410 at once.",
			Correct: "Backs off between its lists: at most 15 requests; afterwards watches again within 60 s.",
			steps: []step{follows(30 * time.Second), act("", func(s *stage) {
				gone := faults.ErrorEvent(apitest.StatusExpired(1, 2))
				s.faults = append(s.faults, s.srv.On(apitest.Match{Verb: "watch", Resource: s.resource.GroupResource()}, func(w http.ResponseWriter, r *http.Request) {
					if kindOf(r) == kindResume {
						gone(w, r)
						return
					}
					apitest.Continue(w, r)
				}))
				s.update(func() {
					s.armed = func(e *entry) http.HandlerFunc {
						if e.mark || e.kind == kindInitial {
							return gone
						}
						return nil
					}
				})
			}), strike("the watch ends", func(s *stage) { s.srv.CloseWatches() }),
				calm(15, 15*time.Second), heal(), recovers(60 * time.Second), proof()},
		},
	}
}

// restores returns the scenarios about a server that lost its history, or a part of it.
func restores() []Scenario {
	return []Scenario{
		{
			Name: "restart/nothing-missed", Layer: "semantics", Limit: 60 * time.Second,
			Summary: "The server restarts and has forgotten its history. Nothing has changed meanwhile.",
			Correct: "Watches again within 30 s from the last event, without a list.",
			steps: []step{follows(30 * time.Second), put("a"), exactly(), strike("the server restarts", func(s *stage) {
				shut(s)
				s.srv.Restart()
			}), pause(settle), act("", open), resumes(30 * time.Second), proof()},
		},
		{
			Name: "restart/something-missed", Layer: "semantics", Limit: 75 * time.Second,
			Summary: "The server restarts and has forgotten its history. An object has been deleted meanwhile, another recreated.",
			Correct: "Lists again, or streams the collection, within 45 s.",
			steps: []step{follows(30 * time.Second), put("a"), strike("the server restarts", func(s *stage) {
				shut(s)
				s.remove("object-0000")
				s.remove("object-0001")
				s.put("object-0001", "again")
				s.srv.Restart()
			}), pause(settle), act("", open), relists(45 * time.Second), proof()},
		},
		{
			Name: "restore/refused", Layer: "semantics", Limit: 125 * time.Second,
			Summary: "etcd is restored from a backup: the server's revision is behind the client's, and it answers a watch from there 504, as too large.",
			Correct: "Lists again, or streams the collection, within 90 s, and does not hammer.",
			steps: []step{follows(30 * time.Second), put("a", "b", "c"), refuseAhead(), restore(2),
				calm(20, 5*time.Second), relists(85 * time.Second), proof()},
		},
		{
			Name: "restore/silent", Layer: "semantics", Limit: 290 * time.Second,
			Summary: "etcd is restored from a backup. The server takes a watch from the client's revision, which is ahead of its own, and keeps silent.",
			Correct: "Does not trust the silence: asks where the server is, and lists the collection again, within 4 minutes.",
			steps:   []step{follows(30 * time.Second), put("a", "b", "c"), restore(2), relists(4 * time.Minute), proof()},
		},
		{
			Name: "crd/recreated", Layer: "semantics", Limit: 110 * time.Second,
			Summary: "The resource is removed, as a CustomResourceDefinition is deleted, answers 404 for 10 s, and comes back with other objects.",
			Correct: "Keeps trying, with pauses: at most 12 requests in 10 s; lists the collection again within 60 s of its return.",
			steps: []step{follows(30 * time.Second), put("a"), strike("the resource is removed", func(s *stage) { s.srv.RemoveResource(s.resource) }),
				calm(12, 10*time.Second), ticks(5), act("the resource is back", func(s *stage) {
					s.srv.AddResource(s.info)
					s.put("new", "of the new definition")
				}), relists(60 * time.Second), proof()},
		},
	}
}

// restore reverts the server by n revisions.
func restore(n int) step {
	down := strike("etcd is restored from a backup", func(s *stage) {
		shut(s)
		if now, err := strconv.Atoi(string(s.srv.Revision())); err == nil { // the fake server's revisions are decimal
			s.srv.RestoreTo(kube.Revision(strconv.Itoa(now - n)))
		}
	})
	return func(ctx context.Context, s *stage) error {
		return s.playSteps(ctx, []step{down, pause(settle), act("", open)})
	}
}

// refuseAhead responds with 504 to a watch from a revision that is ahead of the server.
func refuseAhead() step {
	return act("", func(s *stage) {
		s.faults = append(s.faults, s.srv.On(apitest.Match{Verb: "watch", Resource: s.resource.GroupResource()}, func(w http.ResponseWriter, r *http.Request) {
			asked, err := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
			now, err2 := strconv.ParseUint(string(s.srv.Revision()), 10, 64)
			if err == nil && err2 == nil && asked > now {
				apitest.WriteStatus(w, apitest.StatusTooLarge(asked, now))
				return
			}
			apitest.Continue(w, r)
		}))
	})
}
