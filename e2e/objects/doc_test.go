// Package objects_test compares what the fake server and a real kube-apiserver make of
// objects that people write: those of testdata, and each of them with one thing about it
// that is wrong or unusual. Both get it as a create with dryRun; their code, their reason,
// the reasons and fields of the causes and the object that would be stored must be the
// same. testdata/differences.txt has what is still different, and may only shrink:
//
//	go test ./objects -update    writes it
//	go test ./objects -rounds 9  adds objects with several things wrong, chosen at random
package objects_test
