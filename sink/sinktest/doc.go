// Package sinktest is the suite that every sink passes: the contract of sink.Sink, call by
// call, and stories in which a Runner moves a cluster into the sink while processes die,
// commits get lost, leaders are deposed and the server loses its history.
//
//	func TestSink(t *testing.T) {
//		sinktest.Test(t, func(t *testing.T) sinktest.Store {
//			path := filepath.Join(t.TempDir(), "cluster.db")
//			return sinktest.Store{Connect: func(t *testing.T) sinktest.Sink {
//				db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
//				if err != nil {
//					t.Fatal(err)
//				}
//				t.Cleanup(func() { db.Close() })
//				return db
//			}}
//		})
//	}
//
// sink.Sink permits a Commit to return an error although it has committed. [Soak] accepts that.
// [Test] simulates it in a story, and elsewhere fails at any error but ErrFenced of a commit that
// must be fenced: run it with a system that responds.
//
// A sink of your own needs, besides sink.Sink, the sink.Reader by which the suite reads what
// was written. The suite mocks nothing: the system that the sink writes to is a real one,
// the cluster is package apitest. [World] is the cluster that writes down its own log, and
// compares it with what a sink holds: use it for a soak.
package sinktest
