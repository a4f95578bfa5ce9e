"""Cases of operators of com.microsoft."""
