package lease

import "github.com/listwatch/listwatch/kube"

// Token tells one leadership from all others of the same Lease: a fencing token.
//
// Revision is larger for each later leadership, also where the Lease was deleted
// and created again in between, because it counts the writes of the whole server.
// Only a server restored from a backup goes back, with all that it holds.
// Transitions grows by one with each leader, and is what client-go's replicas count;
// it may begin anew with a Lease that was deleted.
//
// A leader that stood still for too long does not know that there is another, and
// goes on until it has looked at its clock. What keeps it from doing harm then is
// that whatever it writes to compares tokens: store Revision beside what is written,
// in an annotation say, and write only where what is there is not newer, in one
// step: [client.Collection.Edit] is such a step, for its write is refused where the
// object was changed since it was read. Systems outside of Kubernetes need a
// comparison of their own.
type Token struct {
	Lease       kube.Key
	UID         string        // of the Lease
	Revision    kube.Revision // of the write that took the Lease
	Transitions int           // larger by one with each leader
}
