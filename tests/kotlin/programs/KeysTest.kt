package walle.rt.tests

import java.io.File
import java.security.KeyPairGenerator
import walle.rt.JavaKeys

/** Keys of java.security: what lies in the folder when it ends, others read. */
class KeysTest(private val folder: File) {
    fun run() {
        val keys = JavaKeys()
        val key = keys.make()
        promise(key != keys.make(), "every key is another one")
        File(folder, "key.pem").writeText(key)
        File(folder, "request.pem").writeText(keys.request(key))
        File(folder, "signature").writeBytes(keys.sign(key, "a message".toByteArray()))
        // Of OpenSSL, as a device has it that enrolled on a desktop.
        val other = File(folder, "other.pem").readText()
        val certificate = File(folder, "certificate.pem").readText()
        promise(keys.isOf(other, certificate), "a certificate is of its key")
        promise(!keys.isOf(key, certificate), "and of no other")
        File(folder, "other-request.pem").writeText(keys.request(other))
        promise(runCatching { keys.isOf(key, "no certificate") }.isFailure, "what is none is not read")
        promise(runCatching { keys.request(bare()) }.isFailure, "nor is a key without its public half")
    }

    /** As java.security writes one. */
    private fun bare(): String {
        val pair = KeyPairGenerator.getInstance("EC").apply { initialize(256) }.generateKeyPair()
        val lines = java.util.Base64.getMimeEncoder().encodeToString(pair.private.encoded)
        return "-----BEGIN PRIVATE KEY-----\n$lines\n-----END PRIVATE KEY-----\n"
    }
}
