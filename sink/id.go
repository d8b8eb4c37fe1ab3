package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"math/bits"
	"strconv"

	"github.com/listwatch/listwatch/kube"
)

// RecordID returns the id of the state of an object at a revision: 32 hexadecimal
// digits of a hash. The epoch distinguishes revisions that a restored server has assigned
// twice.
func RecordID(cluster string, epoch int64, uid string, rev kube.Revision) string {
	return identify(cluster, epoch, "state", uid, string(rev))
}

// DeletionID returns the id of the deletion of an object. It does not depend on a revision,
// because a deletion that a list showed has none. In a scope with selectors the ids of deletions
// are others, which also depend on the revision of the event or list: an object that left the
// selection, returned and was deleted, all before the Runner asked the server whether it exists,
// has two DELETED records.
func DeletionID(cluster string, epoch int64, uid string) string {
	return identify(cluster, epoch, "deleted", uid)
}

// selectedDeletionID is that of an object of a selection.
func selectedDeletionID(cluster string, epoch int64, uid string, rev kube.Revision) string {
	return identify(cluster, epoch, "deleted", uid, string(rev))
}

// leftID is the id of a departure from the selection, at the revision of the event, or of
// the list that no longer had the object. An object can leave many times.
func leftID(cluster string, epoch int64, uid string, rev kube.Revision) string {
	return identify(cluster, epoch, "left", uid, string(rev))
}

// gapID is the id of a GAP, with the number of the commit before its own: two lists at one
// revision, and two shards of one number after a Reshard, have a GAP each.
func gapID(p Position, to kube.Revision) string {
	s := p.Scope
	return identify(s.Cluster, p.Epoch, "gap", s.Resource.Group, s.Resource.Plural, strconv.Itoa(s.Shard), string(p.Revision), string(to), strconv.FormatInt(p.Sequence, 10))
}

// identify hashes its arguments with their lengths, so that no two lists of arguments
// hash the same bytes.
func identify(cluster string, epoch int64, parts ...string) string {
	h := sha256.New()
	field(h, cluster)
	field(h, strconv.FormatInt(epoch, 10))
	for _, p := range parts {
		field(h, p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func field(h hash.Hash, s string) {
	h.Write(strconv.AppendInt(nil, int64(len(s)), 10))
	h.Write([]byte{':'})
	h.Write([]byte(s))
}

// ShardOf returns the shard, from 0 to shards-1, of the object with this UID:
// shard i selects the objects of kube.EqualShard(i, shards).
func ShardOf(uid string, shards int) int {
	if shards <= 1 {
		return 0
	}
	hi, _ := bits.Mul64(kube.HashUID(uid), uint64(shards))
	return int(hi)
}
