// Package races has the tests of what happens when several transactions are about one job. There is nothing in it but tests, which
// divide the work so:
//
//   - races_test.go plays the races that matter by hand-picked steps, on two connections, without a pause anywhere;
//   - orders_test.go plays every order in which the statements of some transactions can follow one another, by the search in
//     interleaving_test.go;
//   - lost_answers_test.go cuts connections at exact steps, before the server sees a commit and before its client does;
//   - lease_faults_test.go lets leases end at the worst moment, and clocks go wrong;
//   - convergence_test.go sends two hundred equal requests at once.
//
// The fixture and the steps are those of package storetest.
package races
