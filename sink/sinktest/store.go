package sinktest

import (
	"testing"

	"github.com/listwatch/listwatch/sink"
)

// Sink is a sink whose content can be read.
type Sink interface {
	sink.Sink
	sink.Reader
}

// Store is one storage, empty at first: a database, not a connection to it.
type Store struct {
	// Connect returns another connection to the storage, as another process would have,
	// and closes it at the end of t. Connections are used at the same time.
	Connect func(t *testing.T) Sink

	// Duplicates permits records with equal ids in what was sent, and records of who is
	// fenced while it sends: the sink sends at least once. A Reader yields each id once.
	Duplicates bool

	// Read returns a reader of what is committed, beside connections that write. Default:
	// another connection.
	Read func(t *testing.T) sink.Reader

	// OneWriter says that the storage takes one connection at a time, which is its fence:
	// Connect closes the one before.
	OneWriter bool
}

func (s Store) read(t *testing.T) sink.Reader {
	if s.Read != nil {
		return s.Read(t)
	}
	return s.Connect(t)
}

// Test runs the suite. open is called for each part of it and returns a new storage.
func Test(t *testing.T, open func(t *testing.T) Store) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, Store)
	}{
		{"Open makes a scope", opensAScope},
		{"Commit writes records and position", commits},
		{"A commit that comes twice is fenced", fencesRepeats},
		{"Open fences the possessor before", fencesFormer},
		{"Of many possessors one at a time commits", fencesRaces},
		{"Scopes do not share positions", separatesScopes},
		{"Known is of one shard", knowsItsShard},
		{"Known has the epoch of each object", knowsEpochs},
		{"A late deletion spares the namesake", sparesNamesakes},
		{"Another selection is refused", refusesSelections},
		{"Another number of shards is refused", refusesShards},
		{"A mode keeps what it says", keepsModes},
		{"Nothing that an object holds stops the stream", storesAwkwardObjects},
		{"A full batch is one commit", commitsFullBatches},
		{"Control is a part of the position", keepsControl},

		{"Story: load and changes", storyOfChanges},
		{"Story: restarts", storyOfRestarts},
		{"Story: history expires", storyOfExpiry},
		{"Story: the server is restored", storyOfRestore},
		{"Story: killed in mid-list", storyOfBrokenLoad},
		{"Story: commits of unknown outcome", storyOfUnknownCommits},
		{"Story: a frozen leader wakes up", storyOfFrozenLeader},
		{"Story: objects leave the selection", storyOfSelections},
		{"Story: where", storyOfWhere},
		{"Story: shards", storyOfShards},
		{"Story: rescope", storyOfRescope},
		{"Story: quarantine", storyOfQuarantine},
		{"Story: verification", storyOfVerification},
		{"Story: paused and resumed", storyOfPause},
		{"Story: paused while it commits", storyOfPauseAmid},
		{"Story: backfill", storyOfBackfill},
		{"Story: backfill while it runs", storyOfBackfills},
		{"Story: another number of shards", storyOfReshard},
		{"Story: another number of shards, interrupted", storyOfInterruptedReshard},
		{"Story: another number of shards, and a restore", storyOfReshardAndRestore},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, open(t)) })
	}
}
