/* What sodium_init() of libsodium prepares and nobody here uses: password hashing, BLAKE2b, key exchange and
 * Salsa20. With these in the place of its own files, a library holds a quarter of it (cmake/sodium.cmake). */

int _crypto_pwhash_argon2_pick_best_implementation(void);
int _crypto_generichash_blake2b_pick_best_implementation(void);
int _crypto_scalarmult_curve25519_pick_best_implementation(void);
int _crypto_stream_salsa20_pick_best_implementation(void);

int _crypto_pwhash_argon2_pick_best_implementation(void) { return 0; }
int _crypto_generichash_blake2b_pick_best_implementation(void) { return 0; }
int _crypto_scalarmult_curve25519_pick_best_implementation(void) { return 0; }
int _crypto_stream_salsa20_pick_best_implementation(void) { return 0; }
