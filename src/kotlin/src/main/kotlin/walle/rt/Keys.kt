package walle.rt

import java.io.ByteArrayOutputStream
import java.security.KeyFactory
import java.security.KeyPairGenerator
import java.security.PrivateKey
import java.security.Signature
import java.security.cert.CertificateFactory
import java.security.interfaces.ECPrivateKey
import java.security.spec.ECGenParameterSpec
import java.security.spec.PKCS8EncodedKeySpec
import kotlin.io.encoding.Base64

/**
 * The device's own key, which signs what it tells its server: ECDSA on P-256.
 *
 * A key goes by its PEM (PKCS #8), which lies in the device's folder; TLS reads it there, too. Called from
 * the thread that connects and from one of the device's own. What they throw is an error of the connection.
 */
interface Keys {
    /** A new one. */
    fun make(): String

    /** A certificate request (PKCS #10, PEM), signed by ECDSA with SHA-256; any name will do. */
    fun request(key: String): String

    /** Whether a certificate (PEM) is of the key. */
    fun isOf(key: String, certificate: String): Boolean

    /** The signature of a message: ECDSA with SHA-256, DER. */
    fun sign(key: String, message: ByteArray): ByteArray
}

/** Keys by java.security, which Android and the JVM have. */
class JavaKeys : Keys {
    override fun make(): String {
        val generator = KeyPairGenerator.getInstance("EC")
        generator.initialize(ECGenParameterSpec("secp256r1"))
        val pair = generator.generateKeyPair()
        val secret = (pair.private as ECPrivateKey).s.toByteArray().takeLast(SCALAR).toByteArray()
        val scalar = ByteArray(SCALAR - secret.size) + secret
        // With the public key inside, which java.security leaves out and a request needs.
        val point = pair.public.encoded.takeLast(POINT).toByteArray()
        val inner = Der.sequence(Der.ONE, Der.octets(scalar), Der.tagged(1, Der.bits(point)))
        return Pem.text("PRIVATE KEY", Der.sequence(Der.ZERO, Der.P256, Der.octets(inner)))
    }

    override fun request(key: String): String {
        val subject = Der.sequence(Der.set(Der.sequence(Der.COMMON_NAME, Der.utf8("device"))))
        val public = Der.sequence(Der.P256, Der.bits(pointOf(key)))
        val info = Der.sequence(Der.ZERO, subject, public, Der.tagged(0))
        val signed = Der.sequence(info, Der.ECDSA_SHA256, Der.bits(sign(key, info)))
        return Pem.text("CERTIFICATE REQUEST", signed)
    }

    override fun isOf(key: String, certificate: String): Boolean {
        val read = CertificateFactory.getInstance("X.509").generateCertificate(certificate.byteInputStream())
        return read.publicKey.encoded.takeLast(POINT).toByteArray().contentEquals(pointOf(key))
    }

    override fun sign(key: String, message: ByteArray): ByteArray {
        val signature = Signature.getInstance("SHA256withECDSA")
        signature.initSign(Pem.privateKey(key))
        signature.update(message)
        return signature.sign()
    }

    /** The public key, which the private one's PEM has at its end. */
    private fun pointOf(key: String): ByteArray {
        val encoded = Pem.body(key)
        val point = encoded.takeLast(POINT).toByteArray()
        require(encoded.size > POINT && point.first() == UNCOMPRESSED) { "a key with its public half inside" }
        return point
    }

    private companion object {
        const val SCALAR = 32
        const val POINT = 65
        const val UNCOMPRESSED: Byte = 4
    }
}

/** Texts of PEM with one block. */
internal object Pem {
    private const val COLUMNS = 64

    fun text(what: String, der: ByteArray): String {
        val lines = Base64.encode(der).chunked(COLUMNS).joinToString("\n")
        return "-----BEGIN $what-----\n$lines\n-----END $what-----\n"
    }

    fun body(text: String): ByteArray =
        Base64.decode(text.lines().filterNot { it.startsWith("-----") }.joinToString("") { it.trim() })

    fun privateKey(text: String): PrivateKey =
        KeyFactory.getInstance("EC").generatePrivate(PKCS8EncodedKeySpec(body(text)))
}

/** As much of DER as keys and requests need; lengths below 65,536. */
private object Der {
    private const val OBJECT = 0x06
    private const val SHORT = 0x80 // lengths from here on take bytes of their own
    private const val BYTE = 0x100

    val ZERO = element(0x02, byteArrayOf(0))
    val ONE = element(0x02, byteArrayOf(1))
    val COMMON_NAME = id(0x55, 0x04, 0x03)
    val ECDSA_SHA256 = sequence(id(0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02))
    val P256 = sequence(
        id(0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01), id(0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07),
    )

    fun sequence(vararg parts: ByteArray) = element(0x30, *parts)
    fun set(vararg parts: ByteArray) = element(0x31, *parts)
    fun tagged(number: Int, vararg parts: ByteArray) = element(0xA0 + number, *parts)
    fun octets(bytes: ByteArray) = element(0x04, bytes)
    fun bits(bytes: ByteArray) = element(0x03, byteArrayOf(0), bytes)
    fun utf8(text: String) = element(0x0C, text.encodeToByteArray())

    private fun id(vararg bytes: Int) = element(OBJECT, bytes.map(Int::toByte).toByteArray())

    private fun element(tag: Int, vararg parts: ByteArray): ByteArray {
        val size = parts.sumOf { it.size }
        val out = ByteArrayOutputStream()
        out.write(tag)
        when {
            size < SHORT -> out.write(size)
            size < BYTE -> out.write(byteArrayOf(0x81.toByte(), size.toByte()))
            else -> out.write(byteArrayOf(0x82.toByte(), (size / BYTE).toByte(), size.toByte()))
        }
        parts.forEach { out.write(it) }
        return out.toByteArray()
    }
}
