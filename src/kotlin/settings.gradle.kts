// Unproved here: Gradle and its plugins come from networks of their own. The sources are compiled and tested
// by tools/kotlin.py.
pluginManagement {
    repositories {
        google()
        gradlePluginPortal()
        mavenCentral()
    }
}
dependencyResolutionManagement {
    repositories {
        google()
        mavenCentral()
    }
}
rootProject.name = "walle-rt"
// The AAR needs the Android SDK and NDK: -Pandroid.
if (providers.gradleProperty("android").isPresent) include(":android")
