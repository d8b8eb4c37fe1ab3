package lease

import "github.com/listwatch/listwatch/kube"

// Token identifies one leadership of a Lease: a fencing token.
//
// Revision is larger for each later leadership, also if the Lease was deleted and created
// again, because it counts the writes of the whole server. Only a restore of the server from a
// backup sets Revision back, with everything else. Transitions grows by one with each leader, as
// client-go counts; it may restart after the Lease was deleted.
//
// A leader that was frozen does not know that another replica leads, and continues until
// it reads its clock. To prevent damage, the system that the leader writes to must compare tokens:
// store Revision beside the data, for instance in an annotation, and, atomically, write only if
// the stored Revision is not larger. [client.Collection.Edit] is atomic: its write is refused if
// the object was changed after the read. Systems outside of Kubernetes need a comparison of their
// own.
type Token struct {
	Lease       kube.Key
	UID         string        // of the Lease
	Revision    kube.Revision // of the write that took the Lease
	Transitions int           // grows by one with each leader
}
