// Unproved here: it needs the Android SDK.
plugins {
    id("com.android.application") version "8.13.0"
    kotlin("android") version "2.3.0"
}

android {
    namespace = "com.example.shop"
    compileSdk = 36
    defaultConfig {
        applicationId = "com.example.shop"
        minSdk = 24
        targetSdk = 36
        versionCode = 1
        versionName = "1.0.0"
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }
}

dependencies {
    implementation("walle.rt:walle-rt-android:0.1.0")
}
